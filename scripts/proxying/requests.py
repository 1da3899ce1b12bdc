"""Checks single requests through a proxy: redirect, headers, addresses of clients, sign-in, refused bodies, /metrics."""

import contextlib
import http.client
import select
import socket
import ssl
import urllib.parse

import support

from .checklist import wait_until
from .servers import NAME, as_json

HSTS = "Strict-Transport-Security"
ONE_YEAR = ["max-age=31536000"]
CLIENT = "127.0.0.2"
MIB = 1 << 20
MAX_VIEWS_BYTES = 8 * MIB
# Docwright waits for the next byte of a body for 10 seconds.
MAX_STALL_SECONDS = 20
# Each says that the request comes from CLIENT.
FORGED = {
    "X-Forwarded-For": CLIENT,
    "X-Forwarded-For, with a proxy": f"{CLIENT}, 127.0.0.1",
    "x-forwarded-for": f"{CLIENT}:443",
    "X_Forwarded_For": CLIENT,
    "Forwarded": f"for={CLIENT}",
    "X-Real-IP": CLIENT,
    "True-Client-IP": CLIENT,
}
METRICS = ["/metrics", "/metrics?a=b", "//metrics", "/%6detrics", "/a/../metrics", "/./metrics", "/METRICS", "/metrics/", "/metrics;a", "/metrics%00"]


def check_redirect(checklist, proxy):
    with contextlib.closing(http.client.HTTPConnection(NAME, proxy.http_port, timeout=10)) as connection:
        connection.request("GET", "/jobs?a=b")
        response = connection.getresponse()
        response.read()
    target = urllib.parse.urlsplit(response.getheader("Location", ""))
    redirect = (response.status in (301, 308), target.scheme, target.hostname, f"{target.path}?{target.query}")
    checklist.equal("http redirects to https", redirect, (True, "https", NAME, "/jobs?a=b"))


def check_protocols(checklist, proxy):
    context = ssl.create_default_context(cafile=proxy.authority)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", proxy.https_port), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname=NAME) as client:
            checklist.equal("HTTP/2 is offered", client.selected_alpn_protocol(), "h2")


def check_headers(checklist, proxy, docwright):
    answers = {
        "the dashboard": ("/login", None, 200),
        "a style sheet": ("/assets/docwright.css", None, 200),
        "an API answer": (f"{docwright.jobs()}s", docwright.key, 200),
        "a 401 of the API": (f"{docwright.jobs()}s", "dw_wrong", 401),
        "the refusal of /metrics": ("/metrics", None, 404),
    }
    for name, (path, key, status) in answers.items():
        response, _ = proxy.ask("GET", path, key)
        checklist.equal(f"HSTS once with {name}", (response.status, response.headers.get_all(HSTS)), (status, ONE_YEAR))


def check_bad_gateway(checklist, proxy, docwright):
    """While Docwright is down."""
    response, _ = proxy.ask("GET", f"{docwright.jobs()}s", docwright.key)
    checklist.equal("HSTS once with the proxy's own 502", (response.status, response.headers.get_all(HSTS)), (502, ONE_YEAR))


def check_addresses(checklist, proxy, docwright):
    """A key that works from one address only shows which address the server sees."""
    key = docwright.new_key("allowlist", "--allow", CLIENT)

    def status(source, headers=None):
        return proxy.ask("GET", f"{docwright.jobs()}s", key, headers, source=source)[0].status

    checklist.equal("the server sees the client's address", status(CLIENT), 200)
    checklist.equal("a key doesn't work from another address", status("127.0.0.1"), 403)
    # The proxy's own address is trusted, so an appended header would be believed from there.
    forged = {name: status("127.0.0.1", {name.split(",")[0]: value}) for name, value in FORGED.items()}
    checklist.equal("a forged address isn't believed", forged, dict.fromkeys(FORGED, 403))
    junk = ["198.51.100.7", "junk", "", ", ,", "é", "1" * 4000]
    seen = {value: status(CLIENT, {"X-Forwarded-For": value.encode()}) for value in junk}
    checklist.equal("junk in X-Forwarded-For doesn't hide the client's address", seen, dict.fromkeys(junk, 200))


def check_sign_in(checklist, proxy, docwright):
    link = support.docwright(docwright.data, "login")["loginUrl"]
    checklist.true("the sign-in link is the proxy's address", link.startswith(f"{proxy.url}/login?"), link)
    target = urllib.parse.urlsplit(link)
    response, _ = proxy.ask("GET", f"{target.path}?{target.query}")
    checklist.equal("the sign-in page is shown", response.status, 200)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": proxy.url}
    response, _ = proxy.ask("POST", "/login", headers=form, body=target.query)
    cookies = [cookie for cookie in response.headers.get_all("Set-Cookie", []) if "Max-Age=0" not in cookie]
    flags = [sorted({"Secure", "HttpOnly"} & set(cookie.split("; "))) for cookie in cookies]
    checklist.equal("sign-in sets one cookie, with Secure and HttpOnly", (response.status, flags), (303, [["HttpOnly", "Secure"]]))
    if cookies:
        response, body = proxy.ask("GET", "/", headers={"Cookie": cookies[0].split(";")[0]})
        is_dashboard = response.status == 200 and b"Handbook" in body
        checklist.true("the dashboard is shown after sign-in", is_dashboard, f"{response.status} {body[:200]!r}")
    foreign = {**form, "Origin": "https://attacker.example.com"}
    response, _ = proxy.ask("POST", "/login", headers=foreign, body=target.query)
    checklist.equal("a form of another site is refused", response.status, 403)


def check_large_bodies(checklist, proxy, docwright):
    views, jobs = f"/v1/analytics/{docwright.project}/events", docwright.jobs()
    whole = b" " * (MAX_VIEWS_BYTES - 2) + b"[]"
    response, body = proxy.ask("POST", views, docwright.key, {"Content-Type": "application/json"}, whole)
    checklist.equal("a body of exactly 8 MiB arrives", (response.status, as_json(body)), (202, {"accepted": 0, "duplicates": 0, "rejected": []}))
    too_large = (413, "too_large", True)
    for path, size in ((views, MAX_VIEWS_BYTES + 1), (jobs, 3 * MIB), (views, 1024 * MIB)):
        for framing in ("Content-Length", "chunked"):
            answer = send_until_answered(proxy, docwright, path, size, framing)
            checklist.equal(f"{framing}: {size:,} bytes get Docwright's own 413", answer, too_large)


def check_stalled_body(checklist, proxy, docwright):
    """Docwright's log shows that a body is passed on as it arrives. The client's answer doesn't: Caddy keeps it until the
    client has sent the rest."""
    path = f"/v1/analytics/{docwright.project}/events"
    with contextlib.closing(proxy.connect()) as connection:
        connection.putrequest("POST", path)
        for name, value in {"Authorization": f"Bearer {docwright.key}", "Content-Type": "application/json", "Content-Length": 1000}.items():
            connection.putheader(name, value)
        connection.endheaders(b" " * 10)
        is_refused = wait_until(lambda: any(line.get("code") == "too_slow" for line in docwright.log_lines()), MAX_STALL_SECONDS)
    checklist.true("a body is passed on as it arrives: Docwright refuses one that stalls", is_refused, f"not within {MAX_STALL_SECONDS} s")


def send_until_answered(proxy, docwright, path, size, framing):
    """Caddy sometimes closes the connection of a client that still sends, and then the answer is lost."""
    for _ in range(5):
        answer = send(proxy, docwright, path, size, framing)
        if not isinstance(answer, str):
            break
    return answer


def send(proxy, docwright, path, size, framing):
    """Sends spaces until there's an answer: its status, its code, and whether it's Docwright's JSON. An error as text if
    the connection broke."""
    length = f"Content-Length: {size}" if framing == "Content-Length" else "Transfer-Encoding: chunked"
    head = [f"POST {path} HTTP/1.1", f"Host: {NAME}", f"Authorization: Bearer {docwright.key}", "Content-Type: application/json", length, "", ""]
    # With TLS 1.3, a server also sends session tickets, which look like the beginning of an answer.
    with contextlib.closing(proxy.connect(max_version=ssl.TLSVersion.TLSv1_2)) as connection:
        connection.connect()
        client = connection.sock
        try:
            client.sendall("\r\n".join(head).encode())
            for piece in pieces(size, framing == "chunked"):
                client.sendall(piece)
                if select.select([client], [], [], 0)[0]:
                    break
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass  # The answer may still be readable.
        try:
            response = http.client.HTTPResponse(client)
            response.begin()
            body = as_json(response.read()) or {}
        except (OSError, http.client.HTTPException) as error:
            return repr(error)
    return response.status, response.getheader("X-Error-Code"), "error" in body


def pieces(size, is_chunked):
    while size:
        piece = b" " * min(size, 65536)
        size -= len(piece)
        yield b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece
    if is_chunked:
        yield b"0\r\n\r\n"


def check_metrics(checklist, proxy, docwright):
    own = docwright.ask("GET", "/metrics")
    checklist.true("Prometheus reads /metrics without the proxy", "docwright_build_info" in own, own[:200])
    for path in METRICS:
        response, body = proxy.ask("GET", path)
        is_refused = 400 <= response.status < 500 and b"docwright_build_info" not in body
        checklist.true(f"the proxy refuses {path}", is_refused, f"{response.status} {body[:100]!r}")
