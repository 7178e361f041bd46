"""A page in Chromium without a window, steered through a pipe: what it shows, what it says, what it asks for."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """Opens a file. `messages` are errors of the console, `requests` everything but the file itself."""

    def __init__(self, file, folder, dark=False, size=(1280, 900)):
        to_browser, commands = os.pipe()
        answers, from_browser = os.pipe()
        arguments = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
                     f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", "about:blank"]
        # Chromium reads commands from descriptor 3 and answers on 4.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]

        def connect():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen(arguments, pass_fds=(3, 4), preexec_fn=connect, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, *theirs):
            os.close(end)
        self.commands, self.answers = commands, answers
        self.buffer, self.number, self.session = b"", 0, None
        self.messages, self.requests, self.events = [], [], set()
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Network", "Page", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=False)
        self.address = file.resolve().as_uri()
        start = time.monotonic()
        self.call("Page.navigate", url=self.address)
        self.wait_for("Page.loadEventFired")
        # The page is drawn, too.
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        self.seconds = time.monotonic() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            assert select.select([self.answers], [], [], 60)[0], "the browser does not answer"
            part = os.read(self.answers, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        method, about = message.get("method"), message.get("params", {})
        self.events.add(method)
        if method == "Runtime.exceptionThrown":
            self.messages.append(about["exceptionDetails"].get("exception", {}).get("description", str(about)))
        if method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.messages.append(str(about["args"]))
        if method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.messages.append(about["entry"]["text"])
        if method == "Network.requestWillBeSent" and about["request"]["url"] != self.address:
            self.requests.append(about["request"]["url"])
        return message

    def wait_for(self, event):
        while event not in self.events:
            self.receive()

    def run(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector, index=0):
        """Clicks in the middle of an element, as a person does."""
        box = self.run(f"""(() => {{
            const found = document.querySelectorAll({json.dumps(selector)})[{index}];
            found.scrollIntoView({{ block: "center" }});
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.run("new Promise((done) => requestAnimationFrame(() => done(true)))")

    def picture(self, file, selector=None):
        """Writes what an element, or the whole page, looks like."""
        options = {"format": "png", "captureBeyondViewport": True}
        if selector:
            box = self.run(f"""(() => {{
                const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
                return [box.x + scrollX, box.y + scrollY, box.width, box.height];
            }})()""")
            options["clip"] = dict(zip(("x", "y", "width", "height"), box), scale=1)
        else:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))
