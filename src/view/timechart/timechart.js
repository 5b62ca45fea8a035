/* The timechart's behaviour: draws the lanes of CHART (timechart_html.c) between two times, and zooms.
 *
 * A lane's spans are sorted by time, so drawing begins by a binary search and never draws more than a rectangle a pixel. The range that is looked
 * at and what is searched for stand in the address behind the '#', so that a link shows what its sender saw.
 */
(function () {
	'use strict';
	var LANE = 24, CPU = 40, HEAD = 20, LEAST = 100; /* pixels; ns */
	var COLOURS = { running: '#27c', waiting: '#eb0', blocked: '#d33', read: '#27c', write: '#59d', sync: '#880', send: '#282', receive: '#5a5', poll: '#0888' };
	var WORDS = CHART.io ? 10 : 6; /* numbers of a span */
	var canvas = document.getElementById('chart'), range = document.getElementById('range'), details = document.getElementById('details');
	var search = document.getElementById('search'), every = document.getElementById('every');
	var from = 0, to = CHART.end || 1, lanes = [], sought = '', drag = null;

	/* Lanes: CPUs, then rows. All are {name, spans: [{begin, end, kind, …}], height}. */
	function spansOf(row) {
		var list = [];
		for (var i = 0; i + WORDS <= row.spans.length; i += WORDS) {
			var s = row.spans;
			list.push({ begin: s[i], end: s[i] + s[i + 1], kind: CHART.kinds[s[i + 2]], cpu: s[i + 3], flags: s[i + 4], stack: s[i + 5], row: row,
				fd: s[i + 6], bytes: s[i + 7], error: s[i + 8], merges: s[i + 9] });
		}
		return list;
	}
	var rows = CHART.lanes.map(function (row) { return { name: row.name, row: row, spans: spansOf(row), height: LANE }; });
	var cpus = [];
	function byTime(a, b) { return a.begin - b.begin; }
	function makeCpus() {
		if (CHART.io) return;
		for (var i = 0; i < CHART.cpus; i++) cpus.push({ name: 'CPU ' + i, place: CHART.places[i], spans: [], height: CPU });
		rows.forEach(function (lane) {
			lane.spans.forEach(function (span) { if (span.kind === 'running' && cpus[span.cpu]) cpus[span.cpu].spans.push(span); });
		});
		for (var p = 0; p + 5 <= CHART.power.length; p += 5) {
			var w = CHART.power.slice(p, p + 5);
			if (cpus[w[2]] && w[3]) cpus[w[2]].spans.push({ begin: w[0], end: w[0] + w[1], kind: 'idle', state: w[4], cpu: w[2] });
		}
		cpus.forEach(function (lane) { lane.spans.sort(byTime); });
		cpus.sort(function (a, b) { return a.place - b.place; });
	}
	function choose() {
		lanes = cpus.concat(rows.filter(function (lane) {
			return sought ? lane.name.toLowerCase().indexOf(sought) >= 0 : every.checked || lane.row.shown;
		}));
	}

	/* Text. */
	function duration(ns) {
		return ns < 1e3 ? ns + ' ns' : ns < 1e6 ? (ns / 1e3).toFixed(1) + ' µs' : ns < 1e9 ? (ns / 1e6).toFixed(3) + ' ms' : (ns / 1e9).toFixed(3) + ' s';
	}
	function describe(span) {
		var who = span.row ? span.row.name : 'CPU ' + span.cpu, text = who + ': ' + (span.kind === 'idle' ? 'idle C' + span.state : span.kind);
		if (CHART.io) text += ', fd ' + span.fd + ', ' + span.bytes + ' bytes' + (span.error ? ', error ' + span.error : '') + ', ' + (span.merges + 1) + ' calls';
		else if (span.kind === 'running') text += ' on CPU ' + span.cpu;
		text += ', ' + duration(span.end - span.begin) + ' from ' + duration(span.begin);
		return span.stack ? text + '\n' + CHART.stacks[span.stack] : text;
	}

	/* Drawing. */
	function first(spans, time) {
		var low = 0, high = spans.length;
		while (low < high) {
			var middle = (low + high) >> 1;
			if (spans[middle].end < time) low = middle + 1; else high = middle;
		}
		return low;
	}
	function x(time) { return (time - from) / (to - from) * canvas.clientWidth; }
	function colour(span) {
		if (span.flags & 1) return '#f80';
		if (span.flags & 2) return '#d33';
		return span.kind === 'idle' ? 'rgba(221,51,51,' + Math.min(0.15 * (span.state || 1), 0.6) + ')' : COLOURS[span.kind];
	}
	function drawLane(pen, lane, y) {
		var last = -1, width = canvas.clientWidth;
		for (var i = first(lane.spans, from); i < lane.spans.length && lane.spans[i].begin <= to; i++) {
			var span = lane.spans[i], left = Math.max(x(span.begin), 0), right = Math.min(x(span.end), width);
			if (right - last < 0.5 && right - left < 0.5) continue;
			pen.fillStyle = colour(span);
			pen.fillRect(left, y, Math.max(right - left, 0.5), lane.height - 4);
			last = right;
		}
		pen.fillStyle = getComputedStyle(document.body).color;
		pen.fillText(lane.name, 4, y + 12);
	}
	function drawWakeups(pen, tops) {
		var width = canvas.clientWidth, last = {};
		pen.strokeStyle = '#2a2';
		pen.beginPath();
		for (var i = 0; i + 4 <= CHART.wakeups.length; i += 4) {
			var time = CHART.wakeups[i], a = tops[CHART.wakeups[i + 1]], b = tops[CHART.wakeups[i + 2]];
			if (time < from || time > to || b === undefined) continue;
			var at = Math.round(x(time)), key = a + '/' + b;
			if (at < 0 || at > width || last[key] === at) continue;
			last[key] = at;
			pen.moveTo(at, CHART.wakeups[i + 3] || a === undefined ? b - 4 : a + LANE / 2);
			pen.lineTo(at, b);
		}
		pen.stroke();
	}
	function draw() {
		var scale = window.devicePixelRatio || 1, height = HEAD, tops = {};
		lanes.forEach(function (lane) { height += lane.height; });
		canvas.style.height = height + 'px';
		canvas.width = canvas.clientWidth * scale;
		canvas.height = height * scale;
		var pen = canvas.getContext('2d'), y = HEAD;
		pen.scale(scale, scale);
		pen.font = '12px sans-serif';
		lanes.forEach(function (lane) {
			if (lane.row) tops[lane.row.tid] = y;
			drawLane(pen, lane, y);
			y += lane.height;
		});
		drawWakeups(pen, tops);
		range.textContent = duration(Math.round(from)) + ' – ' + duration(Math.round(to)) + ' of ' + duration(CHART.end) + ', ' + lanes.length + ' lanes';
	}

	/* What is looked at. */
	function look(begin, end) {
		var length = Math.min(Math.max(end - begin, LEAST), CHART.end || 1);
		from = Math.min(Math.max(begin, 0), (CHART.end || 1) - length);
		to = from + length;
		var words = from > 0 || to < CHART.end ? ['t=' + Math.round(from) + ',' + Math.round(to)] : [];
		if (sought) words.push('s=' + encodeURIComponent(sought));
		history.replaceState(null, '', words.length ? '#' + words.join('&') : location.pathname + location.search);
		draw();
	}
	function zoom(factor, at) { look(at - (at - from) * factor, at + (to - at) * factor); }
	function timeAt(event) { return from + (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth * (to - from); }
	function spanAt(event) {
		var y = event.clientY - canvas.getBoundingClientRect().top - HEAD, time = timeAt(event);
		for (var i = 0; i < lanes.length && y >= lanes[i].height; i++) y -= lanes[i].height;
		if (y < 0 || i >= lanes.length) return null;
		var slack = (to - from) / canvas.clientWidth, spans = lanes[i].spans;
		for (var s = first(spans, time - slack); s < spans.length && spans[s].begin <= time + slack; s++)
			if (spans[s].end >= time - slack) return spans[s];
		return null;
	}

	canvas.addEventListener('wheel', function (event) {
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
		event.preventDefault();
		zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
	}, { passive: false });
	canvas.addEventListener('mousedown', function (event) { drag = { at: timeAt(event), from: from, to: to, x: event.clientX }; });
	window.addEventListener('mousemove', function (event) {
		if (drag) look(drag.from + (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from), drag.to + (drag.x - event.clientX) / canvas.clientWidth * (drag.to - drag.from));
		else if (event.target === canvas) {
			var span = spanAt(event);
			details.textContent = span ? describe(span) : '';
		}
	});
	window.addEventListener('mouseup', function () { drag = null; });
	canvas.addEventListener('dblclick', function (event) {
		var span = spanAt(event);
		if (span) look(span.begin - (span.end - span.begin) / 10, span.end + (span.end - span.begin) / 10);
	});
	canvas.addEventListener('keydown', function (event) {
		var part = (to - from) / 5, middle = (from + to) / 2;
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === '+' || event.key === 'w') zoom(0.5, middle);
		else if (event.key === '-' || event.key === 's') zoom(2, middle);
		else if (event.key === 'ArrowLeft' || event.key === 'a') look(from - part, to - part);
		else if (event.key === 'ArrowRight' || event.key === 'd') look(from + part, to + part);
		else if (event.key === '0') look(0, CHART.end);
		else return;
		event.preventDefault();
	});
	document.getElementById('reset').addEventListener('click', function () { look(0, CHART.end); });
	search.addEventListener('input', function () { sought = search.value.toLowerCase(); choose(); look(from, to); });
	every.addEventListener('change', function () { choose(); draw(); });
	window.addEventListener('resize', draw);

	rows.forEach(function (lane) { lane.spans.sort(byTime); });
	makeCpus();
	(location.hash.slice(1).split('&')).forEach(function (word) {
		var times = /^t=(\d+),(\d+)$/.exec(word), text = /^s=(.*)$/.exec(word);
		if (times) { from = +times[1]; to = +times[2]; }
		if (text) try { sought = search.value = decodeURIComponent(text[1]); } catch (e) { sought = ''; }
	});
	choose();
	look(from, to);
})();
