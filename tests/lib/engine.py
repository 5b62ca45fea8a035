"""An engine that windows are sent to: a server for HTTP on loopback that keeps each request and answers as it is told.

    with Engine() as engine:
        engine.answers = [(503, {"Retry-After": "1"}, b"busy")]     # then 200 with nothing
        … f"otlp://{engine.place}" …
        engine.requests[0].path, .headers, .body
"""
import http.server
import socket
import ssl
import struct
import subprocess
import threading
import types

HANG, RESET = "hang", "reset"  # instead of an answer: none at all, or the connection is cut when a half of the body has come


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *arguments):  # pylint: disable=redefined-builtin
        pass

    def answer(self):
        engine, size = self.server.engine, int(self.headers.get("Content-Length", 0))
        way = engine.answers.pop(0) if engine.answers else (200, {}, b"")
        body = self.rfile.read(size // 2 if way == RESET else size)
        engine.requests.append(types.SimpleNamespace(method=self.command, path=self.path, headers=self.headers, body=body))
        if way == HANG:
            engine.ends.wait()
        if way in (HANG, RESET):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        status, headers, text = way
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer


class Engine:
    def __init__(self, certificate=None):
        self.requests, self.answers, self.ends = [], [], threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.engine, self.server.daemon_threads = self, True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.place = f"127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.server.shutdown()
        self.server.server_close()


def make_certificate(folder):
    """(certificate, key): files, of 127.0.0.1, which nobody trusts."""
    names = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", names[0], "-keyout", names[1]], check=True, capture_output=True)
    return names
