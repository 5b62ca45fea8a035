/* The flame graph's behaviour, the same in the SVG and in the HTML form.
 *
 * FLAME holds the tree in preorder: `labels`, and `nodes` as triples (depth, label * 8 + kind, total). From it come flat arrays: a node's
 * horizontal range is [start, start + total) in weight, its subtree is the index range [i, end[i]). Drawing walks the preorder and jumps over
 * the whole subtree of whatever is narrower than half a pixel, so its cost depends on what can be seen, not on the size of the tree.
 */
(function () {
	'use strict';
	var SVG = 'http://www.w3.org/2000/svg', ROW = 17, CHAR = 6.9, PAD = 10, TOP = 64;
	var KINDS = ['user', 'kernel', 'JIT', 'inlined', 'other'];
	var data = FLAME, count = data.nodes.length / 3;
	var depth = new Uint16Array(count), label = new Int32Array(count), kind = new Uint8Array(count), end = new Int32Array(count);
	var parent = new Int32Array(count), total = new Float64Array(count), start = new Float64Array(count);
	var matched = null, zoomed = 0, focus = 0, inverted = data.inverted, shown = 0, width = 0;
	var svg = document.getElementById('flame'), frames = document.getElementById('frames'), details = document.getElementById('details');
	var found = document.getElementById('found'), header = document.getElementById('header'), byIndex = new Map();

	function unpack() {
		var stack = [], next = [];
		for (var i = 0; i < count; i++) {
			var d = depth[i] = data.nodes[3 * i];
			label[i] = data.nodes[3 * i + 1] >> 3;
			kind[i] = data.nodes[3 * i + 1] & 7;
			total[i] = data.nodes[3 * i + 2];
			while (stack.length > d) end[stack.pop()] = i;
			parent[i] = d ? stack[d - 1] : -1;
			start[i] = d ? next[d - 1] : 0;
			if (d) next[d - 1] += total[i];
			next[d] = start[i];
			stack.push(i);
		}
		while (stack.length) end[stack.pop()] = count;
	}

	function name(i) { return i === 0 ? 'all' : data.labels[label[i]]; }
	function percent(part, whole) { return whole ? (100 * part / whole).toFixed(2) + '%' : '0%'; }
	function words(i) {
		var text = name(i) + ' (' + total[i].toLocaleString('en-US') + ' ' + data.unit + ', ' + percent(total[i], total[0]);
		if (zoomed) text += ', ' + percent(total[i], total[zoomed]) + ' of the zoomed frame';
		return text + (i && kind[i] < 4 ? ', ' + KINDS[kind[i]] : '') + ')';
	}

	/* One hue range for each kind; the name decides where in it, so that a function has one colour everywhere. */
	function color(i) {
		if (matched && matched[label[i]] && i) return 'rgb(230,0,230)';
		var text = name(i), h = 0;
		for (var k = 0; k < text.length; k++) h = (h * 31 + text.charCodeAt(k)) >>> 0;
		var a = (h % 97) / 97, b = (h % 53) / 53;
		if (i === 0) return 'hsl(45,30%,75%)';
		switch (kind[i]) {
		case 1: return 'hsl(' + (22 + 12 * a) + ',90%,' + (60 + 10 * b) + '%)';
		case 2: return 'hsl(' + (95 + 35 * a) + ',50%,' + (58 + 12 * b) + '%)';
		case 3: return 'hsl(' + (180 + 20 * a) + ',50%,' + (62 + 10 * b) + '%)';
		case 4: return 'hsl(0,0%,' + (70 + 12 * b) + '%)';
		}
		return 'hsl(' + (42 + 14 * a) + ',85%,' + (60 + 12 * b) + '%)';
	}

	function height() { return TOP + (shown + 1) * ROW + PAD; }
	function top(d) { return inverted ? TOP + d * ROW : height() - PAD - (d + 1) * ROW; }

	function draw_frame(i, x, w, faded) {
		var g = document.createElementNS(SVG, 'g'), rect = document.createElementNS(SVG, 'rect'), y = top(depth[i]);
		g.setAttribute('data-i', i);
		if (faded) g.setAttribute('opacity', '0.5');
		if (i === focus) g.setAttribute('class', 'focus');
		rect.setAttribute('x', x.toFixed(2));
		rect.setAttribute('y', y);
		rect.setAttribute('width', Math.max(w - 0.4, 0.3).toFixed(2));
		rect.setAttribute('height', ROW - 1);
		rect.setAttribute('fill', color(i));
		g.appendChild(rect);
		var room = Math.floor((w - 6) / CHAR), text = name(i);
		if (room >= 3) {
			var t = document.createElementNS(SVG, 'text');
			t.setAttribute('x', (x + 3).toFixed(2));
			t.setAttribute('y', y + 12);
			t.textContent = text.length <= room ? text : text.slice(0, room - 2) + '..';
			g.appendChild(t);
		}
		byIndex.set(i, g);
		return g;
	}

	function draw() {
		width = data.page ? Math.max(400, window.innerWidth - 16) : data.width;
		var whole = width - 2 * PAD, scale = total[zoomed] ? whole / total[zoomed] : 0, out = document.createDocumentFragment();
		var visible = [];
		shown = 0;
		for (var i = zoomed; i < end[zoomed];) {
			if (total[i] * scale < 0.5 && i !== zoomed) {
				i = end[i];
				continue;
			}
			visible.push(i);
			if (depth[i] > shown) shown = depth[i];
			i++;
		}
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height());
		svg.setAttribute('width', width);
		svg.setAttribute('height', height());
		byIndex.clear();
		for (var up = parent[zoomed]; up >= 0; up = parent[up]) out.appendChild(draw_frame(up, PAD, whole, true));
		for (i of visible) out.appendChild(draw_frame(i, PAD + (start[i] - start[zoomed]) * scale, total[i] * scale, false));
		frames.replaceChildren(out);
		show_found();
		show_root();
	}

	/* The root stays in sight: at the bottom, or with `inverted` at the top; the header goes along with the window. */
	function show_root() {
		window.scrollTo(0, inverted ? 0 : svg.getBoundingClientRect().bottom + window.scrollY);
		move_header();
	}
	function move_header() { header.setAttribute('transform', 'translate(0,' + Math.max(0, -svg.getBoundingClientRect().top) + ')'); }

	/* Matched weight: of the outermost matching frame of each stack, so that nothing counts twice. */
	function show_found() {
		if (!matched) {
			found.textContent = '';
			return;
		}
		var sum = 0;
		for (var i = zoomed; i < end[zoomed];) {
			if (i && matched[label[i]]) {
				sum += total[i];
				i = end[i];
			} else {
				i++;
			}
		}
		found.textContent = 'Matched: ' + percent(sum, total[zoomed]) + ' (' + sum.toLocaleString('en-US') + ' ' + data.unit + ')';
	}

	function search(text) {
		matched = null;
		if (text) {
			var test;
			try {
				var expression = new RegExp(text, 'i');
				test = function (s) { return expression.test(s); };
			} catch (e) {
				test = function (s) { return s.indexOf(text) >= 0; };
			}
			matched = data.labels.map(test);
		}
		draw();
	}
	function ask() {
		var text = window.prompt('Search for a function (regular expression, empty clears):', '');
		if (text !== null) search(text);
	}

	function zoom(i) { zoomed = focus = i; draw(); say(i); }
	function say(i) { details.textContent = i === null ? ' ' : words(i); }
	function move(i) {
		if (i < 0 || i >= count) return;
		if (i < zoomed || i >= end[zoomed]) zoomed = i;
		focus = i;
		draw();
		say(i);
	}
	function first_child(i) {
		var best = -1;
		for (var c = i + 1; c < end[i]; c = end[c]) if (best < 0 || total[c] > total[best]) best = c;
		return best;
	}
	function sibling(i, step) {
		var p = parent[i], last = -1;
		if (p < 0) return -1;
		for (var c = p + 1; c < end[p]; c = end[c]) {
			if (step > 0 && last === i) return c;
			if (step < 0 && c === i) return last;
			last = c;
		}
		return -1;
	}
	function invert() { inverted = !inverted; draw(); }

	function index_of(target) {
		while (target && target !== svg) {
			if (target.getAttribute && target.getAttribute('data-i') !== null) return +target.getAttribute('data-i');
			target = target.parentNode;
		}
		return -1;
	}

	function on_key(event) {
		if (event.target && event.target.tagName === 'INPUT') return;
		var away = inverted ? 'ArrowDown' : 'ArrowUp', back = inverted ? 'ArrowUp' : 'ArrowDown', key = event.key, done = true;
		if (key === '/' || (key === 'f' && event.ctrlKey)) ask();
		else if (key === 'i') invert();
		else if (key === 'Escape') { matched = null; zoom(0); }
		else if (key === 'Backspace') zoom(Math.max(parent[zoomed], 0));
		else if (key === 'Enter') zoom(focus);
		else if (key === away) move(first_child(focus));
		else if (key === back) move(parent[focus]);
		else if (key === 'ArrowRight') move(sibling(focus, 1));
		else if (key === 'ArrowLeft') move(sibling(focus, -1));
		else done = false;
		if (done) event.preventDefault();
	}

	unpack();
	svg.addEventListener('click', function (event) {
		var i = index_of(event.target), id = event.target.id;
		if (i >= 0) zoom(i);
		else if (id === 'reset') zoom(0);
		else if (id === 'search') ask();
		else if (id === 'invert') invert();
	});
	svg.addEventListener('mouseover', function (event) {
		var i = index_of(event.target);
		if (i < 0) return say(null);
		say(i);
		var g = byIndex.get(i);
		if (g && !g.querySelector('title')) {
			var title = document.createElementNS(SVG, 'title');
			title.textContent = words(i);
			g.appendChild(title);
		}
	});
	window.addEventListener('keydown', on_key);
	window.addEventListener('scroll', move_header);
	if (data.page) window.addEventListener('resize', draw);
	draw();
	window.flame = { search: search, zoom: zoom, invert: invert, count: count };
})();
