"""A client of the REST API that acts for one user."""

import httpx

# A client that makes one of its own needs more time for it than for most tests' requests together.
TLS = httpx.create_ssl_context(trust_env=False)
PROBLEM = "application/problem+json"


class Rest:
    """A REST client that checks every response: no 5xx unless `allow_5xx`, and errors are RFC 9457 problems."""

    def __init__(self, url: str, token: str | None, allow_5xx: bool = False):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.allow_5xx = allow_5xx
        self.http = httpx.Client(base_url=url, headers=headers, trust_env=False, verify=TLS, timeout=40)

    def request(self, method: str, path: str, **options) -> httpx.Response:
        response = self.http.request(method, path, **options)
        assert self.allow_5xx or response.status_code < 500, f"{method} {path}: {response.status_code} {response.text}"
        if response.status_code >= 400 and method != "HEAD":
            assert response.headers.get("content-type", "").split(";")[0] == PROBLEM, (
                f"{response.headers} {response.text}"
            )
            problem = response.json()
            assert isinstance(problem.get("code"), str) and isinstance(problem.get("message"), str), problem
        return response

    def get(self, path: str, **params) -> httpx.Response:
        return self.request("GET", path, params=params)

    def post(self, path: str, body) -> httpx.Response:
        return self.request("POST", path, json=body)

    def put(self, path: str, body) -> httpx.Response:
        return self.request("PUT", path, json=body)

    def delete(self, path: str, **params) -> httpx.Response:
        return self.request("DELETE", path, params=params)

    def signal(
        self, action: str, call_id: str | None = None, *, path_id: bool = False, top=None, **data
    ) -> httpx.Response:
        """Sends `POST /api/calls/signal`, with the callId in the body or in the path."""
        body = {"action": action, "data": data} | (top or {})
        path = "/api/calls/signal"
        if call_id is not None and path_id:
            path += f"/{call_id}"
        elif call_id is not None:
            body["callId"] = call_id
        return self.post(path, body)

    def log(self, call_id: str, **params) -> dict:
        """Sends `GET /api/calls/signal/{callId}`, which must succeed; returns the body."""
        response = self.get(f"/api/calls/signal/{call_id}", **params)
        assert response.status_code == 200, response.text
        return response.json()

    def close(self):
        self.http.close()


def code(response: httpx.Response) -> tuple[int, str]:
    """Returns the status and the code of a refusal."""
    return response.status_code, response.json().get("code")
