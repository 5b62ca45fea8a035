/* The behaviour of the page of a whole profile (profile_html.c says what is in PROFILE).
 *
 * What is shown follows from four things: the event, the range of time, the function that is chosen, and what is sought. A change of the event or
 * the range adds the cells of the range up, into the nodes of the tree and from there into functions; all else only draws.
 */
(function () {
	'use strict';
	var LANE = 15, HEAT = 5, ROW = 17, MOST_ROWS = 500;
	var KINDS = ['user', 'kernel', 'jit', 'inlined', 'other'];
	var page = {}, event = null, from = 0, to = 0, chosen = -1, zoomed = 0, sought = '', order = {key: 'self', down: true}, boxes = [], under = -1, all_threads = false;
	var byId = function (id) { return document.getElementById(id); };

	/* ---- reading ---- */
	function list(read, make) {
		var made = new Array(read.number());
		for (var i = 0; i < made.length; i++) made[i] = make(read, i);
		return made;
	}
	function numbers(read, count) {
		var made = new Float64Array(count);
		for (var i = 0; i < count; i++) made[i] = read.number();
		return made;
	}
	function lane(read) { return {name: read.text(), weights: numbers(read, page.slices)}; }
	function read_event(read) {
		var e = {name: read.text(), samples: read.number(), period: read.number(), least: read.number(), others: read.number()}, i, n;
		e.frames = list(read, function (r) { return {label: r.text(), module: r.text(), kind: r.number()}; });
		n = e.count = read.number();
		e.parent = new Int32Array(n);
		for (i = 1; i < n; i++) e.parent[i] = i - read.number();
		e.frame = new Int32Array(n);
		for (i = 0; i < n; i++) e.frame[i] = read.number();
		n = read.number();
		e.cell_node = new Int32Array(n);
		for (i = 0; i < n; i++) e.cell_node[i] = (i ? e.cell_node[i - 1] : 0) + read.number();
		e.cell_slice = new Uint16Array(numbers(read, n));
		e.cell_weight = numbers(read, n);
		e.parts = numbers(read, page.slices * page.parts);
		e.threads = list(read, lane);
		e.cpus = list(read, lane);
		return lay_out(e);
	}
	/* The tree in preorder, children by their labels: where a node stands, how deep it is and where its subtree ends. */
	function lay_out(e) {
		var children = [], i, stack = [0], at = 0;
		for (i = 0; i < e.count; i++) children.push(null);
		for (i = 1; i < e.count; i++) (children[e.parent[i]] = children[e.parent[i]] || []).push(i);
		e.order = new Int32Array(e.count);
		e.depth = new Int32Array(e.count);
		e.end = new Int32Array(e.count); /* by place in the order */
		e.place = new Int32Array(e.count);
		var backwards = function (a, b) {
			var x = e.frames[e.frame[a]].label, y = e.frames[e.frame[b]].label;
			return x < y ? 1 : x > y ? -1 : b - a;
		};
		while (stack.length) {
			i = stack.pop();
			e.depth[i] = i ? e.depth[e.parent[i]] + 1 : 0;
			e.place[i] = at;
			e.order[at++] = i;
			if (children[i]) children[i].sort(backwards).forEach(function (c) { stack.push(c); });
		}
		var last = new Int32Array(e.count);
		for (at = e.count - 1; at >= 0; at--) {
			i = e.order[at];
			last[i] = Math.max(last[i], at + 1);
			e.end[at] = last[i];
			if (i) last[e.parent[i]] = Math.max(last[e.parent[i]], last[i]);
		}
		e.self = new Float64Array(e.count);
		e.total = new Float64Array(e.count);
		return e;
	}
	function read_annotation(read) {
		return {name: read.text(), file: read.text(), event: read.text(), share: read.number() / 100, lines: list(read, function (r) {
			return {kind: r.number(), share: r.number() / 100, address: r.number(), text: r.text()};
		})};
	}
	function read_page(read) {
		page = {title: read.text(), slices: read.number(), parts: read.number(), duration: read.number()};
		page.facts = list(read, function (r) { return [r.text(), r.text()]; });
		page.events = list(read, read_event);
		page.annotations = list(read, read_annotation);
	}

	/* ---- adding up ---- */
	function add_up() {
		var e = event, i, f, d, n = e.frames.length, path = [];
		e.self.fill(0);
		for (i = 0; i < e.cell_node.length; i++)
			if (e.cell_slice[i] >= from && e.cell_slice[i] < to) e.self[e.cell_node[i]] += e.cell_weight[i];
		e.total.set(e.self);
		for (i = e.count - 1; i > 0; i--) e.total[e.parent[i]] += e.total[i];
		e.own = new Float64Array(n);
		e.whole = new Float64Array(n);
		var above = new Int32Array(n); /* how often a function is on the way */
		for (var at = 0; at < e.count; at++) {
			i = e.order[at];
			f = e.frame[i];
			d = e.depth[i];
			while (path.length > d) above[path.pop()]--;
			e.own[f] += e.self[i];
			if (!above[f]) e.whole[f] += e.total[i];
			above[f]++;
			path.push(f);
		}
	}
	/* Those from which a function was called, and those that it called: [frame, weight]. */
	function neighbours(f) {
		var e = event, callers = new Map(), callees = new Map(), i, p;
		for (i = 1; i < e.count; i++) {
			p = e.frame[e.parent[i]];
			if (!e.total[i] || p === e.frame[i]) continue;
			if (e.frame[i] === f) callers.set(p, (callers.get(p) || 0) + e.total[i]);
			if (p === f) callees.set(e.frame[i], (callees.get(e.frame[i]) || 0) + e.total[i]);
		}
		var sorted = function (map) { return Array.from(map).sort(function (a, b) { return b[1] - a[1]; }); };
		return {callers: sorted(callers), callees: sorted(callees)};
	}

	/* ---- words ---- */
	function percent(part) { return event.total[0] ? (100 * part / event.total[0]).toFixed(2) + '%' : '0%'; }
	function seconds(slice) { return (page.duration * slice / page.slices / 1e9).toFixed(3) + ' s'; }
	function node_words(i) {
		var frame = event.frames[event.frame[i]];
		return frame.label + (frame.module ? ' (' + frame.module + ')' : '') + ': ' + percent(event.total[i]) + ', own ' + percent(event.self[i]);
	}
	function matches(text) { return sought !== '' && text.toLowerCase().indexOf(sought) >= 0; }

	/* ---- elements ---- */
	function element(kind, parent, className, text) {
		var made = document.createElement(kind);
		if (className) made.className = className;
		if (text !== undefined) made.textContent = text;
		if (parent) parent.appendChild(made);
		return made;
	}
	function color(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }
	/* For what stands left of a lane. */
	function label_room(width) { return width < 600 ? 90 : 170; }
	/* A canvas as wide as its place, sharp on any screen. */
	function context_of(canvas, height) {
		var ratio = window.devicePixelRatio || 1, width = Math.max(200, canvas.clientWidth);
		canvas.style.height = height + 'px';
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		var context = canvas.getContext('2d');
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.font = '11px monospace';
		context.textBaseline = 'middle';
		context.room = width;
		context.label = label_room(width);
		return context;
	}

	/* ---- time ---- */
	function slice_at(canvas, clientX) {
		var box = canvas.getBoundingClientRect();
		return Math.min(page.slices, Math.max(0, (clientX - box.left - label_room(box.width)) / (box.width - label_room(box.width)) * page.slices));
	}
	function cover(context, height) {
		var width = (context.room - context.label) / page.slices;
		if (!from && to === page.slices) return;
		context.fillStyle = color('back');
		context.globalAlpha = 0.65;
		context.fillRect(context.label, 0, from * width, height);
		context.fillRect(context.label + to * width, 0, (page.slices - to) * width, height);
		context.globalAlpha = 1;
		context.strokeStyle = color('mark');
		context.strokeRect(context.label + from * width + 0.5, 0.5, (to - from) * width - 1, height - 1);
	}
	function fit(text, letters) { return text.length <= letters ? text : text.slice(0, letters - 1) + '…'; }
	function draw_heat() {
		var context = context_of(byId('heat'), page.parts * HEAT), width = (context.room - context.label) / page.slices, most = 0, i, heat = color('heat');
		for (i = 0; i < event.parts.length; i++) most = Math.max(most, event.parts[i]);
		for (i = 0; i < event.parts.length; i++) {
			if (!event.parts[i]) continue;
			context.fillStyle = 'rgba(' + heat + ',' + (0.08 + 0.92 * event.parts[i] / most) + ')';
			context.fillRect(context.label + Math.floor(i / page.parts) * width, (page.parts - 1 - i % page.parts) * HEAT, Math.max(width, 0.6), HEAT);
		}
		context.fillStyle = color('dim');
		context.fillText(seconds(1) + ' each', 6, page.parts * HEAT / 2);
		cover(context, page.parts * HEAT);
	}
	function draw_lanes(id, lanes) {
		var height = lanes.length * LANE, context = context_of(byId(id), Math.max(1, height)), width = (context.room - context.label) / page.slices, most = 0;
		lanes.forEach(function (one) { one.weights.forEach(function (w) { most = Math.max(most, w); }); });
		lanes.forEach(function (one, row) {
			context.fillStyle = color('text');
			context.fillText(fit(one.name, context.label / 7), 6, row * LANE + LANE / 2);
			context.fillStyle = color('user');
			for (var i = 0; i < page.slices; i++) {
				var h = one.weights[i] / most * (LANE - 2);
				if (h) context.fillRect(context.label + i * width, (row + 1) * LANE - Math.max(h, 1) - 1, Math.max(width, 0.6), Math.max(h, 1));
			}
		});
		cover(context, height);
	}
	function shown_threads() { return all_threads ? event.threads : event.threads.slice(0, 12); }
	function draw_time() {
		draw_heat();
		draw_lanes('cpus', event.cpus);
		draw_lanes('threads', shown_threads());
		byId('cpus-head').hidden = byId('cpus').hidden = !event.cpus.length;
		byId('more').hidden = event.threads.length <= 12;
		byId('more').textContent = all_threads ? 'show fewer' : 'show ' + (event.others ? '' : 'all ') + event.threads.length + (event.others ? ' of ' + (event.threads.length + event.others) : '');
		byId('range').textContent = !from && to === page.slices ? 'whole time, ' + seconds(page.slices) : seconds(from) + ' to ' + seconds(to);
	}
	function set_range(a, b) {
		from = Math.max(0, Math.min(a, page.slices - 1));
		to = Math.min(page.slices, Math.max(b, from + 1));
		refresh();
	}
	function listen_to_time(canvas) {
		var start = null;
		canvas.tabIndex = 0;
		canvas.addEventListener('pointerdown', function (pointer) {
			start = slice_at(canvas, pointer.clientX);
			canvas.setPointerCapture(pointer.pointerId);
		});
		canvas.addEventListener('pointermove', function (pointer) {
			if (start === null) return;
			var end = slice_at(canvas, pointer.clientX);
			from = Math.floor(Math.min(start, end));
			to = Math.max(Math.ceil(Math.max(start, end)), from + 1);
			draw_time();
		});
		canvas.addEventListener('pointerup', function (pointer) {
			if (start === null) return;
			var end = slice_at(canvas, pointer.clientX);
			set_range(Math.floor(Math.min(start, end)), Math.ceil(Math.max(start, end)));
			start = null;
		});
		canvas.addEventListener('pointercancel', function () { start = null; refresh(); });
		canvas.addEventListener('keydown', function (key) {
			var step = key.key === 'ArrowLeft' ? -1 : key.key === 'ArrowRight' ? 1 : 0, width = to - from;
			if (!step) return;
			if (key.shiftKey) set_range(from, to + step);
			else if (width === page.slices) set_range(0, 10);
			else set_range(Math.min(Math.max(0, from + step), page.slices - width), Math.min(page.slices, Math.max(width, to + step)));
			key.preventDefault();
		});
	}

	/* ---- the table ---- */
	function table_rows() {
		var rows = [], hidden = new Set(), e = event, i;
		for (i = 0; i < e.count; i++) if (e.depth[i] < 2) hidden.add(e.frame[i]);
		for (i = 0; i < e.frames.length; i++)
			if (e.whole[i] && !hidden.has(i) && (!sought || matches(e.frames[i].label) || matches(e.frames[i].module))) rows.push(i);
		var value = {self: function (f) { return e.own[f]; }, total: function (f) { return e.whole[f]; },
			name: function (f) { return e.frames[f].label; }, module: function (f) { return e.frames[f].module; }}[order.key];
		rows.sort(function (a, b) {
			var x = value(a), y = value(b), less = x < y ? -1 : x > y ? 1 : 0;
			return (order.down ? -less : less) || e.whole[b] - e.whole[a] || a - b;
		});
		return rows;
	}
	function on_row(row, action) {
		row.tabIndex = 0;
		row.addEventListener('click', action);
		row.addEventListener('keydown', function (key) {
			var next = key.key === 'ArrowDown' ? row.nextElementSibling : key.key === 'ArrowUp' ? row.previousElementSibling : null;
			if (key.key === 'Enter') action();
			else if (next) next.focus();
			else return;
			key.preventDefault();
		});
	}
	function add_function(body, f, weights) {
		var row = element('tr', body, f === chosen ? 'chosen' : '');
		weights.forEach(function (w) { element('td', row, 'n', percent(w)); });
		element('td', row, '', event.frames[f].label);
		element('td', row, 'dim', event.frames[f].module);
		on_row(row, function () { choose(f); });
	}
	function draw_table() {
		var body = document.createElement('tbody'), rows = table_rows();
		rows.slice(0, MOST_ROWS).forEach(function (f) { add_function(body, f, [event.own[f], event.whole[f]]); });
		byId('functions').replaceChild(body, byId('functions').tBodies[0]);
		byId('count').textContent = rows.length + ' functions' + (rows.length > MOST_ROWS ? ', the first ' + MOST_ROWS + ' are shown' : '');
		Array.from(byId('functions').querySelectorAll('th')).forEach(function (th) {
			var key = th.getAttribute('data-key');
			th.setAttribute('aria-sort', key !== order.key ? 'none' : order.down ? 'descending' : 'ascending');
			th.firstChild.textContent = th.getAttribute('data-title') + (key !== order.key ? '' : order.down ? ' ▾' : ' ▴');
		});
	}

	/* ---- the flame graph ---- */
	function draw_flames() {
		var e = event, canvas = byId('flames'), room = Math.max(200, canvas.clientWidth), start = [0], at, i, d, w, x, most = 0;
		var base = e.depth[zoomed], scale = e.total[zoomed] ? room / e.total[zoomed] : 0, visible = [], path = [];
		for (i = zoomed; i > 0; i = e.parent[i]) path.push(e.parent[i]);
		boxes = [];
		for (at = e.place[zoomed]; at < e.end[e.place[zoomed]];) {
			i = e.order[at];
			d = e.depth[i] - base;
			w = e.total[i] * scale;
			x = start[d] || 0;
			start[d] = x + w;
			start[d + 1] = x;
			if (w < 0.5) {
				at = e.end[at];
				continue;
			}
			visible.push({node: i, x: x, width: w, row: d + path.length});
			most = Math.max(most, d + path.length);
			at++;
		}
		path.reverse().forEach(function (node, row) { visible.push({node: node, x: 0, width: room, row: row}); });
		boxes = visible;
		var context = context_of(canvas, (most + 1) * ROW), colors = {}, text = '#000';
		KINDS.forEach(function (kind) { colors[kind] = color(kind); });
		visible.forEach(function (box) {
			var frame = e.frames[e.frame[box.node]], y = box.row * ROW;
			context.fillStyle = matches(frame.label) || e.frame[box.node] === chosen ? color('mark') : colors[KINDS[frame.kind] || 'other'];
			context.globalAlpha = box.row < path.length ? 0.5 : 0.8 + (frame.label.length * 7 + frame.label.charCodeAt(0)) % 5 / 20;
			context.fillRect(box.x, y, Math.max(box.width - 0.5, 0.4), ROW - 1);
			context.globalAlpha = 1;
			var letters = Math.floor((box.width - 6) / 6.7);
			if (letters < 3) return;
			context.fillStyle = text;
			context.fillText(fit(frame.label, letters), box.x + 3, y + ROW / 2);
		});
		canvas.setAttribute('aria-label', 'flame graph of ' + e.name + ': ' + node_words(zoomed));
	}
	function box_at(pointer) {
		var place = byId('flames').getBoundingClientRect(), x = pointer.clientX - place.left, row = Math.floor((pointer.clientY - place.top) / ROW);
		return boxes.find(function (box) { return box.row === row && x >= box.x && x < box.x + box.width; });
	}
	function listen_to_flames(canvas) {
		canvas.tabIndex = 0;
		canvas.addEventListener('pointermove', function (pointer) {
			var box = box_at(pointer);
			byId('said').textContent = box ? node_words(box.node) : '';
		});
		canvas.addEventListener('click', function (pointer) {
			var box = box_at(pointer);
			if (box) zoom(box.node);
		});
		canvas.addEventListener('keydown', function (key) {
			var e = event, best = -1, at = e.place[zoomed];
			if (key.key === 'ArrowDown') {
				for (at++; at < e.end[e.place[zoomed]]; at = e.end[at]) if (best < 0 || e.total[e.order[at]] > e.total[best]) best = e.order[at];
			} else if (key.key === 'ArrowUp' && zoomed) {
				best = e.parent[zoomed];
			}
			if (best < 0) return;
			zoom(best);
			key.preventDefault();
		});
	}
	function zoom(node) {
		zoomed = node;
		if (event.depth[node] > 1) choose(event.frame[node]);
		else draw_flames();
		byId('said').textContent = node_words(node);
	}

	/* ---- one function ---- */
	function draw_function() {
		var place = byId('function'), code;
		place.replaceChildren();
		if (chosen < 0) {
			element('p', place, 'dim', 'Choose a function in the table or the flame graph: here are its callers and callees then, and its code if it is one of the hottest.');
			return;
		}
		var frame = event.frames[chosen], near = neighbours(chosen), columns;
		element('h2', place, '', frame.label + (frame.module ? ' (' + frame.module + ')' : ''));
		element('p', place, '', 'own ' + percent(event.own[chosen]) + ', with callees ' + percent(event.whole[chosen]));
		columns = element('div', place, 'columns');
		[['Callers', near.callers], ['Callees', near.callees]].forEach(function (side) {
			var half = element('div', columns), body;
			element('h2', half, '', side[0]);
			body = element('tbody', element('table', element('div', half, 'scroll')));
			side[1].slice(0, 100).forEach(function (one) { add_function(body, one[0], [one[1]]); });
		});
		code = page.annotations.find(function (one) { return one.name === frame.label && one.file === frame.module; });
		if (code) draw_code(place, code);
	}
	function draw_code(place, code) {
		element('h2', place, '', 'Code: shares of the function by ' + code.event + ', of the whole time');
		var body = element('tbody', element('table', element('div', place, 'scroll')));
		code.lines.forEach(function (line) {
			var row = element('tr', body, line.kind === 2 ? '' : 'source');
			var cell = element('td', row, 'n', line.kind === 2 && line.share ? line.share.toFixed(2) + '%' : '');
			if (line.share >= 1) cell.style.color = color('mark');
			element('td', row, 'dim', line.kind === 2 ? line.address.toString(16) : '');
			element('td', row, '', line.text);
		});
	}
	function choose(f) {
		chosen = f;
		draw_table();
		draw_flames();
		draw_function();
		remember();
	}

	/* ---- all of it ---- */
	function refresh() {
		add_up();
		draw_time();
		draw_table();
		draw_flames();
		draw_function();
		remember();
	}
	function remember() {
		var parts = ['event=' + page.events.indexOf(event), 'time=' + from + '-' + to];
		if (chosen >= 0) parts.push('function=' + encodeURIComponent(event.frames[chosen].label));
		if (sought) parts.push('search=' + encodeURIComponent(sought));
		try {
			history.replaceState(null, '', '#' + parts.join('&'));
		} catch (e) { /* some places allow no history */ }
	}
	function recall() {
		var wanted = new URLSearchParams(location.hash.slice(1)), time = /^(\d+)-(\d+)$/.exec(wanted.get('time') || '');
		event = page.events[Math.floor(+wanted.get('event'))] || page.events[0];
		from = time ? Math.min(+time[1], page.slices - 1) : 0;
		to = time ? Math.max(from + 1, Math.min(+time[2], page.slices)) : page.slices;
		chosen = wanted.has('function') ? event.frames.findIndex(function (frame) { return frame.label === wanted.get('function'); }) : -1;
		byId('search').value = wanted.get('search') || '';
		sought = byId('search').value.toLowerCase();
		zoomed = 0;
		byId('event').selectedIndex = page.events.indexOf(event);
		refresh();
	}
	function search(text) {
		sought = text.toLowerCase();
		draw_table();
		draw_flames();
		remember();
	}
	function reset() {
		byId('search').value = sought = '';
		chosen = -1;
		zoomed = 0;
		set_range(0, page.slices);
	}
	function build() {
		page.facts.forEach(function (fact) {
			element('dt', byId('facts'), '', fact[0]);
			element('dd', byId('facts'), '', fact[1]);
		});
		page.events.forEach(function (e) { element('option', byId('event'), '', e.name + ' (' + e.samples.toLocaleString('en-US') + ' samples)'); });
		byId('event').addEventListener('change', function () {
			event = page.events[byId('event').selectedIndex];
			chosen = -1;
			zoomed = 0;
			refresh();
		});
		byId('search').addEventListener('input', function () { search(byId('search').value); });
		byId('reset').addEventListener('click', reset);
		byId('more').addEventListener('click', function () {
			all_threads = !all_threads;
			draw_time();
		});
		byId('functions').querySelectorAll('th').forEach(function (th) {
			th.firstChild.addEventListener('click', function () {
				var key = th.getAttribute('data-key');
				order = {key: key, down: order.key === key ? !order.down : key === 'self' || key === 'total'};
				draw_table();
			});
		});
		['heat', 'cpus', 'threads'].forEach(function (id) { listen_to_time(byId(id)); });
		listen_to_flames(byId('flames'));
		window.addEventListener('keydown', function (key) {
			if (key.ctrlKey || key.altKey || key.metaKey) return;
			if (key.key === 'Escape') {
				if (document.activeElement === byId('search')) byId('search').blur();
				reset();
			} else if (key.key === '/' && document.activeElement !== byId('search')) {
				byId('search').focus();
				key.preventDefault();
			}
		});
		var again = function () {
			draw_time();
			draw_flames();
		};
		window.addEventListener('resize', again);
		/* On paper colours are those for a light background; what is drawn already has others. */
		var print = function (begins) {
			document.documentElement.classList.toggle('printed', begins);
			again();
		};
		window.addEventListener('beforeprint', function () { print(true); });
		window.addEventListener('afterprint', function () { print(false); });
		window.addEventListener('hashchange', recall);
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
	}
	function explain(error) {
		byId('said').textContent = 'This browser can\'t show the page (' + error.message + '): it needs a newer one.';
		throw error;
	}
	var ready = new Promise(function (resolve) { resolve(PACKED.unzip(PROFILE)); }).then(function (bytes) {
		read_page(PACKED.reader(bytes));
		build();
		recall();
	}).catch(explain);
	window.profile = {ready: ready, range: set_range, search: search, choose: function (label) {
		choose(event.frames.findIndex(function (frame) { return frame.label === label; }));
	}, page: function () { return page; }, event: function () { return event; }};
})();
