/* Reads what packed.c writes: zlib in base64; in it LEB128 numbers, and texts that end with a NUL. */
var PACKED = {
	unzip: function (base64) {
		'use strict';
		var text = atob(base64), bytes = new Uint8Array(text.length);
		for (var i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
		var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
		return new Response(stream).arrayBuffer().then(function (buffer) { return new Uint8Array(buffer); });
	},
	reader: function (bytes) {
		'use strict';
		var at = 0, decoder = new TextDecoder();
		return {
			number: function () {
				var value = 0, scale = 1, byte;
				do {
					byte = bytes[at++];
					value += (byte & 127) * scale;
					scale *= 128;
				} while (byte & 128);
				return value;
			},
			text: function () {
				var end = bytes.indexOf(0, at), text = decoder.decode(bytes.subarray(at, end));
				at = end + 1;
				return text;
			}
		};
	}
};
