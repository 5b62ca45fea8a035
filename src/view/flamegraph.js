/* The flame graph's behaviour, the same in the SVG and in the HTML form.
 *
 * FLAME.data is the tree as flame_data.h describes it. From it come flat arrays in preorder: a node's horizontal range is [start, start + total) in
 * weight, its subtree is the index range [i, end[i]). Drawing walks the preorder and jumps over the whole subtree of whatever is narrower than half a
 * pixel, so its cost depends on what can be seen, not on the size of the tree.
 *
 * Zoom, search and the buttons' states stand in the address behind the '#', so that a link shows what its sender saw.
 */
(function () {
	'use strict';
	var SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml', ROW = 17, CHAR = 6.9, PAD = 10;
	var KINDS = ['user', 'kernel', 'JIT', 'inlined', ''];
	var frames = [];              /* {label, module, kind, css} */
	var whole = null, tree = null; /* the tree that was written, and the one that is shown */
	var matched = null, sought = '', zoomed = 0, focus = 0, icicle = FLAME.icicle, folded = false, shown = 0, width = 0, top = 64, rooted = true;
	var svg = document.getElementById('flame'), picture = document.getElementById('frames'), byIndex = new Map();
	var bar, holder, input, found, details;

	/* Reading. */
	function new_tree(count) {
		return {count: count, depth: new Int32Array(count), frame: new Int32Array(count), parent: new Int32Array(count), end: new Int32Array(count),
			self: new Float64Array(count), total: new Float64Array(count), start: new Float64Array(count),
			self_before: new Float64Array(count), before: new Float64Array(count)};
	}
	/* Fills in what follows from depth, self and self_before. */
	function complete(t) {
		var stack = [], next = [], i, d;
		for (i = 0; i < t.count; i++) {
			d = t.depth[i];
			while (stack.length > d) t.end[stack.pop()] = i;
			t.parent[i] = d ? stack[d - 1] : -1;
			stack.push(i);
		}
		while (stack.length) t.end[stack.pop()] = t.count;
		for (i = t.count - 1; i >= 0; i--) {
			t.total[i] += t.self[i];
			t.before[i] += t.self_before[i];
			if (i) t.total[t.parent[i]] += t.total[i];
			if (i) t.before[t.parent[i]] += t.before[i];
		}
		for (i = 1; i < t.count; i++) {
			d = t.depth[i];
			t.start[i] = t.parent[i] === i - 1 ? t.start[i - 1] : next[d];
			next[d] = t.start[i] + t.total[i];
		}
		return t;
	}
	function unpack(bytes) {
		var read = PACKED.reader(bytes), n = read.number(), i;
		for (i = 0; i < n; i++) frames.push({label: read.text(), module: read.text(), kind: read.number(), css: 'c' + read.number()});
		var t = new_tree(read.number());
		for (i = 0; i < t.count; i++) {
			n = read.number();
			t.depth[i] = i ? t.depth[i - 1] + 1 - n : 0;
		}
		for (i = 0; i < t.count; i++) t.frame[i] = read.number();
		for (i = 0; i < t.count; i++) t.self[i] = read.number();
		if (FLAME.changes) for (i = 0; i < t.count; i++) t.self_before[i] = read.number();
		return complete(t);
	}

	/* The tree in which a function that calls itself is one frame. */
	function fold_recursion(t) {
		var nodes = [{frame: t.frame[0], self: t.self[0], before: t.self_before[0], children: new Map()}], place = new Int32Array(t.count);
		for (var i = 1; i < t.count; i++) {
			var up = nodes[place[t.parent[i]]], label = frames[t.frame[i]].label;
			if (t.parent[i] && frames[up.frame].label === label) {
				place[i] = place[t.parent[i]];
			} else if (up.children.has(label)) {
				place[i] = up.children.get(label);
			} else {
				place[i] = nodes.length;
				up.children.set(label, nodes.length);
				nodes.push({frame: t.frame[i], self: 0, before: 0, children: new Map()});
			}
			nodes[place[i]].self += t.self[i];
			nodes[place[i]].before += t.self_before[i];
		}
		var result = new_tree(nodes.length), stack = [[0, 0]], at = 0;
		while (stack.length) {
			var top_one = stack.pop(), node = nodes[top_one[0]];
			result.depth[at] = top_one[1];
			result.frame[at] = node.frame;
			result.self[at] = node.self;
			result.self_before[at++] = node.before;
			Array.from(node.children.keys()).sort().reverse().forEach(function (key) { stack.push([node.children.get(key), top_one[1] + 1]); });
		}
		return complete(result);
	}

	/* Words. */
	function name(i) { return i === 0 ? 'all' : frames[tree.frame[i]].label; }
	function percent(part, all) { return all ? (100 * part / all).toFixed(2) + '%' : '0%'; }
	function inside(i) { return i >= zoomed && i < tree.end[zoomed]; }
	function words(i) {
		var text = name(i) + ' (' + tree.total[i].toLocaleString('en-US') + ' ' + FLAME.unit + ', ' + percent(tree.total[i], tree.total[0]);
		if (FLAME.changes && tree.before[0]) {
			var change = 100 * tree.total[i] / tree.total[0] - 100 * tree.before[i] / tree.before[0];
			text += ', ' + (change < 0 ? '' : '+') + change.toFixed(2) + '%';
		}
		if (zoomed && inside(i)) text += ', ' + percent(tree.total[i], tree.total[zoomed]) + ' of the zoomed frame';
		var what = i ? frames[tree.frame[i]] : {kind: 4, module: ''};
		if (KINDS[what.kind]) text += ', ' + KINDS[what.kind];
		return text + (what.module ? ', ' + what.module : '') + ')';
	}

	/* Drawing. */
	function height() { return top + (shown + 1) * ROW + PAD; }
	function row(d) { return icicle ? top + d * ROW : height() - PAD - (d + 1) * ROW; }
	function element(kind, attributes) {
		var made = document.createElementNS(SVG, kind);
		for (var key in attributes) made.setAttribute(key, attributes[key]);
		return made;
	}
	function draw_frame(i, x, w, faded) {
		var y = row(tree.depth[i]), g = element('g', {'data-i': i}), marked = matched && i && matched[tree.frame[i]];
		if (faded) g.setAttribute('opacity', '0.5');
		if (i === focus) g.setAttribute('class', 'focus');
		g.appendChild(element('rect', {x: x.toFixed(2), y: y, width: Math.max(w - 0.4, 0.3).toFixed(2), height: ROW - 1,
			'class': marked ? 'm' : frames[tree.frame[i]].css}));
		var room = Math.floor((w - 6) / CHAR), text = name(i);
		if (room >= 3) {
			var t = element('text', {x: (x + 3).toFixed(2), y: y + 12});
			t.textContent = text.length <= room ? text : text.slice(0, room - 2) + '..';
			g.appendChild(t);
		}
		byIndex.set(i, g);
		return g;
	}
	function draw() {
		width = Math.max(200, document.documentElement.clientWidth || window.innerWidth || 1200);
		place_bar();
		var inner = width - 2 * PAD, scale = tree.total[zoomed] ? inner / tree.total[zoomed] : 0, out = document.createDocumentFragment();
		var visible = [];
		shown = 0;
		for (var i = zoomed; i < tree.end[zoomed];) {
			if (tree.total[i] * scale < 0.5 && i !== zoomed) {
				i = tree.end[i];
				continue;
			}
			visible.push(i);
			if (tree.depth[i] > shown) shown = tree.depth[i];
			i++;
		}
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height());
		svg.setAttribute('width', width);
		svg.setAttribute('height', height());
		byIndex.clear();
		for (var up = tree.parent[zoomed]; up >= 0; up = tree.parent[up]) out.appendChild(draw_frame(up, PAD, inner, true));
		for (i of visible) out.appendChild(draw_frame(i, PAD + (tree.start[i] - tree.start[zoomed]) * scale, tree.total[i] * scale, false));
		picture.replaceChildren(out);
		show_found();
	}
	/* The root stays in sight, also when the window gets another size, unless somebody scrolled away from it: at the bottom, or in an icicle at the
	 * top; the header goes along with the window. */
	function show_root() {
		window.scrollTo(0, icicle ? 0 : svg.getBoundingClientRect().bottom + window.scrollY);
		move_bar();
	}
	function move_bar() {
		var place = svg.getBoundingClientRect();
		holder.setAttribute('transform', 'translate(0,' + Math.max(0, -place.top) + ')');
		rooted = icicle ? place.top > -ROW : place.bottom < window.innerHeight + ROW;
	}
	function resize() {
		var stays = rooted;
		draw();
		if (stays) show_root();
		else move_bar();
	}

	/* The header: what the file's own said, the tools, and the line about a frame. */
	function html(kind, parent, className, text) {
		var made = document.createElementNS(XHTML, kind);
		if (className) made.className = className;
		if (text) made.textContent = text;
		parent.appendChild(made);
		return made;
	}
	function button(parent, text, action) {
		var made = html('button', parent, '', text);
		made.type = 'button';
		made.addEventListener('click', action);
		return made;
	}
	function make_bar() {
		var old = document.getElementById('header'), legend = document.getElementById('legend');
		bar = document.createElementNS(XHTML, 'div');
		bar.className = 'bar';
		html('b', html('div', bar), '', document.getElementById('title').textContent);
		html('div', bar, '', document.getElementById('subtitle').textContent);
		var tools = html('div', bar, 'tools');
		input = html('input', tools);
		input.type = 'search';
		input.placeholder = 'search ( / )';
		input.setAttribute('aria-label', 'search for functions, a regular expression');
		input.addEventListener('input', function () { search(input.value); });
		button(tools, 'reset', function () { reset(); });
		button(tools, 'flip', function () { flip(); });
		button(tools, 'fold recursion', function () { toggle_recursion(); });
		found = html('span', tools, 'found');
		legend.querySelectorAll('rect').forEach(function (rect) {
			var box = element('svg', {viewBox: '0 0 10 10'});
			box.appendChild(element('rect', {width: 10, height: 10, 'class': rect.getAttribute('class')}));
			tools.appendChild(box);
			html('span', tools, '', rect.nextSibling.textContent);
		});
		details = html('div', bar);
		holder = element('foreignObject', {x: 0, y: 0, width: 100, height: 64});
		holder.appendChild(bar);
		old.replaceWith(holder);
	}
	function place_bar() {
		holder.setAttribute('width', width);
		holder.setAttribute('height', 400);
		top = Math.max(40, Math.ceil(bar.offsetHeight)) + 4;
		holder.setAttribute('height', top - 4);
	}

	/* Matched weight: of the outermost matching frame of each stack, so that nothing counts twice. */
	function show_found() {
		if (!matched) {
			found.textContent = '';
			return;
		}
		var sum = 0;
		for (var i = zoomed; i < tree.end[zoomed];) {
			if (i && matched[tree.frame[i]]) {
				sum += tree.total[i];
				i = tree.end[i];
			} else {
				i++;
			}
		}
		found.textContent = 'Matched: ' + percent(sum, tree.total[zoomed]) + ' (' + sum.toLocaleString('en-US') + ' ' + FLAME.unit + ')';
	}

	/* What people do. */
	function remember() {
		var parts = [];
		if (folded) parts.push('recursion=folded');
		if (icicle !== FLAME.icicle) parts.push('flipped');
		if (zoomed) parts.push('zoom=' + zoomed);
		if (sought) parts.push('search=' + encodeURIComponent(sought));
		try {
			history.replaceState(null, '', '#' + parts.join('&'));
		} catch (e) { /* some places allow no history: then a link can't be made there */ }
	}
	function recall() {
		var wanted = {};
		location.hash.slice(1).split('&').forEach(function (part) {
			var at = part.indexOf('=');
			wanted[at < 0 ? part : part.slice(0, at)] = at < 0 ? true : part.slice(at + 1);
		});
		folded = wanted.recursion === 'folded';
		tree = folded ? fold_recursion(whole) : whole;
		icicle = FLAME.icicle !== !!wanted.flipped;
		zoomed = focus = wanted.zoom < tree.count ? Math.max(0, Math.floor(wanted.zoom)) : 0;
		try {
			input.value = typeof wanted.search === 'string' ? decodeURIComponent(wanted.search) : '';
		} catch (e) {
			input.value = '';
		}
		match(input.value);
		draw();
		say(zoomed ? zoomed : null);
		show_root();
	}
	function match(text) {
		sought = text;
		matched = null;
		if (!text) return;
		var expression = null, lower = text.toLowerCase();
		try {
			expression = new RegExp(text, 'i');
		} catch (e) { /* half typed: taken as it stands */ }
		matched = frames.map(function (frame) { return expression ? expression.test(frame.label) : frame.label.toLowerCase().indexOf(lower) >= 0; });
	}
	function search(text) {
		if (input.value !== text) input.value = text;
		match(text);
		draw();
		remember();
	}
	function zoom(i) {
		zoomed = focus = i;
		draw();
		say(i);
		show_root();
		remember();
	}
	function reset() {
		search('');
		zoom(0);
	}
	function flip() {
		icicle = !icicle;
		draw();
		show_root();
		remember();
	}
	function toggle_recursion() {
		folded = !folded;
		tree = folded ? fold_recursion(whole) : whole;
		zoom(0);
	}
	function say(i) { details.textContent = i === null ? '' : words(i); }
	function move(i) {
		if (i < 0 || i >= tree.count) return;
		if (!inside(i)) zoomed = i;
		focus = i;
		draw();
		say(i);
		var g = byIndex.get(i);
		if (g && g.scrollIntoView) g.scrollIntoView({block: 'nearest'});
		move_bar();
	}
	function first_child(i) {
		var best = -1;
		for (var c = i + 1; c < tree.end[i]; c = tree.end[c]) if (best < 0 || tree.total[c] > tree.total[best]) best = c;
		return best;
	}
	function sibling(i, step) {
		var p = tree.parent[i], last = -1;
		if (p < 0) return -1;
		for (var c = p + 1; c < tree.end[p]; c = tree.end[c]) {
			if (step > 0 && last === i) return c;
			if (step < 0 && c === i) return last;
			last = c;
		}
		return -1;
	}
	function index_of(target) {
		while (target && target !== svg) {
			if (target.getAttribute && target.getAttribute('data-i') !== null) return +target.getAttribute('data-i');
			target = target.parentNode;
		}
		return -1;
	}
	function on_key(event) {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.target === input) {
			if (event.key === 'Escape' || event.key === 'Enter') input.blur();
			return;
		}
		var away = icicle ? 'ArrowDown' : 'ArrowUp', back = icicle ? 'ArrowUp' : 'ArrowDown', key = event.key, done = true;
		if (key === '/') input.focus();
		else if (key === 'i') flip();
		else if (key === 'r') toggle_recursion();
		else if (key === 'Escape') reset();
		else if (key === 'Backspace') zoom(Math.max(tree.parent[zoomed], 0));
		else if (key === 'Enter' && event.target.tagName !== 'button') zoom(focus);
		else if (key === away) move(first_child(focus));
		else if (key === back) move(tree.parent[focus]);
		else if (key === 'ArrowRight') move(sibling(focus, 1));
		else if (key === 'ArrowLeft') move(sibling(focus, -1));
		else done = false;
		if (done) event.preventDefault();
	}
	function listen() {
		picture.addEventListener('click', function (event) {
			var i = index_of(event.target);
			if (i >= 0) zoom(i);
		});
		picture.addEventListener('mouseover', function (event) {
			var i = index_of(event.target), g = byIndex.get(i);
			if (i < 0) return;
			say(i);
			if (g && !g.querySelector('title')) g.appendChild(element('title', {})).textContent = words(i);
		});
		picture.addEventListener('mouseleave', function () { say(zoomed ? zoomed : null); });
		window.addEventListener('keydown', on_key);
		window.addEventListener('scroll', move_bar);
		window.addEventListener('resize', resize);
		window.addEventListener('hashchange', recall);
	}
	function begin(bytes) {
		whole = tree = unpack(bytes);
		make_bar();
		listen();
		recall();
	}
	function explain(error) {
		var line = document.getElementById('subtitle');
		if (line) line.textContent = 'This browser shows the picture only (' + error.message + '): zoom and search need a newer one.';
		throw error;
	}
	var ready = new Promise(function (resolve) { resolve(PACKED.unzip(FLAME.data)); }).then(begin).catch(explain);
	function later(action) { return function (argument) { return ready.then(function () { return action(argument); }); }; }
	window.flame = {search: later(search), zoom: later(zoom), flip: later(flip), recursion: later(toggle_recursion), say: later(say),
		size: function () { return tree.count; }, words: words, ready: ready};
})();
