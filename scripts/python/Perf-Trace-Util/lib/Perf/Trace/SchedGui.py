"""A window with one row of coloured time for each CPU: what scripts that show scheduling draw on. Needs wxPython.

The tracer that RootFrame gets has interval() -> (first, last) in nanoseconds, nr_rectangles(), set_root_win(frame), fill_zone(first, last), which paints
by paint_rectangle_zone(), and mouse_down(row, time).
"""
try:
    import wx
except ImportError:
    raise ImportError('this script draws with wxPython: apt install python3-wxgtk4.0')


class RootFrame(wx.Frame):
    Y_OFFSET = 100
    RECT_HEIGHT = 100
    RECT_SPACE = 50
    EVENT_MARKING_WIDTH = 5
    SCROLL_STEP = 10

    def __init__(self, sched_tracer, title, parent=None, id=-1):
        wx.Frame.__init__(self, parent, id, title)
        self.sched_tracer = sched_tracer
        self.sched_tracer.set_root_win(self)
        self.ts_start, self.ts_end = self.sched_tracer.interval()
        self.zoom = 0.5
        self.dc = None
        self.txt = None

        width, height = wx.GetDisplaySize()
        self.screen_width, self.screen_height = width - 10, height - 10
        rows = self.sched_tracer.nr_rectangles() + 1
        self.height_virtual = self.Y_OFFSET + rows * (self.RECT_HEIGHT + self.RECT_SPACE)

        self.panel = wx.Panel(self, size=(self.screen_width, self.screen_height))
        self.scroll = wx.ScrolledWindow(self.panel, size=(self.screen_width, self.screen_height // 2))
        self.scroll.EnableScrolling(True, True)
        self.scroll_panel = wx.Panel(self.scroll, size=(self.screen_width, self.height_virtual))
        self.update_width_virtual()
        for window in (self.scroll_panel, self.scroll):
            window.Bind(wx.EVT_PAINT, self.on_paint)
            window.Bind(wx.EVT_KEY_DOWN, self.on_key_press)
            window.Bind(wx.EVT_LEFT_DOWN, self.on_mouse_down)
        self.scroll_panel.SetFocus()
        self.Fit()
        self.Show(True)

    # Microseconds, pixels and nanoseconds.

    def us_to_px(self, val):
        return int(val / 1000.0 * self.zoom)

    def px_to_us(self, val):
        return int(val / self.zoom * 1000)

    def scroll_start(self):
        column, row = self.scroll.GetViewStart()
        return column * self.SCROLL_STEP, row * self.SCROLL_STEP

    def scroll_start_us(self):
        return self.px_to_us(self.scroll_start()[0])

    def update_width_virtual(self):
        self.width_virtual = self.us_to_px((self.ts_end - self.ts_start) // 1000)
        self.scroll_panel.SetSize((max(self.width_virtual, 1), self.height_virtual))
        self.scroll.SetScrollbars(self.SCROLL_STEP, self.SCROLL_STEP, self.width_virtual // self.SCROLL_STEP,
                                  self.height_virtual // self.SCROLL_STEP)

    # Painting.

    def paint_rectangle_zone(self, nr, color, top_color, start, end):
        """One piece of row `nr`, from `start` to `end`; `top_color` marks an event above it, or is None."""
        left = self.us_to_px((start - self.ts_start) // 1000)
        width = self.us_to_px((end - self.ts_start) // 1000) - left
        top = self.Y_OFFSET + nr * (self.RECT_HEIGHT + self.RECT_SPACE)
        height = self.RECT_HEIGHT
        if top_color is not None:
            self._fill(top_color, left, top, width, self.EVENT_MARKING_WIDTH)
            top += self.EVENT_MARKING_WIDTH
            height -= self.EVENT_MARKING_WIDTH
        self._fill(color, left, top, width, height)

    def _fill(self, color, left, top, width, height):
        self.dc.SetBrush(wx.Brush(wx.Colour(*color), wx.BRUSHSTYLE_SOLID))
        self.dc.DrawRectangle(left, top, width, height)

    def update_rectangles(self, dc, start, end):
        self.sched_tracer.fill_zone(start + self.ts_start, end + self.ts_start)

    def on_paint(self, event):
        self.dc = wx.PaintDC(self.scroll_panel)
        first = self.scroll_start_us() * 1000
        last = first + self.px_to_us(self.screen_width) * 1000
        self.update_rectangles(self.dc, first, last)

    # What the mouse and the keys do.

    def rect_from_ypixel(self, y):
        """The row at a height in pixels; -1 between rows."""
        row, rest = divmod(y - self.Y_OFFSET, self.RECT_HEIGHT + self.RECT_SPACE)
        return row if 0 <= row < self.sched_tracer.nr_rectangles() and rest <= self.RECT_HEIGHT else -1

    def update_summary(self, txt):
        if self.txt:
            self.txt.Destroy()
        self.txt = wx.StaticText(self.panel, -1, txt, (0, self.screen_height // 2 + 50))

    def on_mouse_down(self, event):
        position = event.GetPosition()
        row = self.rect_from_ypixel(position.y)
        if row >= 0:
            self.sched_tracer.mouse_down(row, self.px_to_us(position.x) * 1000 + self.ts_start)

    def _set_zoom(self, zoom):
        left = self.scroll_start_us()
        self.zoom = zoom
        self.update_width_virtual()
        self.scroll.Scroll(self.us_to_px(left) // self.SCROLL_STEP, self.scroll_start()[1] // self.SCROLL_STEP)
        self.Refresh()

    def zoom_in(self):
        self._set_zoom(self.zoom * 2)

    def zoom_out(self):
        self._set_zoom(self.zoom / 2)

    def on_key_press(self, event):
        key = event.GetRawKeyCode()
        column, row = self.scroll.GetViewStart()
        steps = {wx.WXK_LEFT: (-1, 0), wx.WXK_RIGHT: (1, 0), wx.WXK_UP: (0, -1), wx.WXK_DOWN: (0, 1)}
        if key == ord('+'):
            self.zoom_in()
        elif key == ord('-'):
            self.zoom_out()
        elif event.GetKeyCode() in steps:
            across, down = steps[event.GetKeyCode()]
            self.scroll.Scroll(column + across, row + down)
