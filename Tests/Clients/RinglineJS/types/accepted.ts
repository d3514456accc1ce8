// Uses of the module that must compile. types.test.mjs runs tsc on this file.
import {
  Call, RequestError, Ringline, compileCore, type Engine, type EngineHost, type Options, type PastCall,
} from "../../../../Sources/Clients/RinglineJS/ringline.js";

class Silent implements Engine {
  constructor(private host: EngineHost) {}

  perform(output: Parameters<Engine["perform"]>[0]): void {
    switch (output.out) {
      case "makeOffer":
        this.host.take({ in: "localDescription", uuid: output.uuid, round: output.round, kind: "offer", sdp: "v=0\r\n" });
        break;
      case "setRemoteDescription":
        console.log(output.kind, output.sdp.length);
        break;
      case "addRemoteCandidate":
        console.log(output.candidate?.length ?? 0);
        break;
    }
  }

  close(): void {}
}

const options: Options = {
  url: "https://calls.example.com",
  user: "11",
  device: "web-a",
  token: async () => "x.y.z",
  engine: (host) => new Silent(host),
};

async function use(): Promise<void> {
  const ringline = await Ringline.create({ ...options, wasm: await compileCore(), WebSocket });
  ringline.addEventListener("incoming", ({ call }) => {
    call.addEventListener("ended", ({ reason }) => console.log(reason === "hangup", call.state));
    if (call.isScheduled) console.log(call.schedule?.length, call.data);
    call.answer({ video: false });
    call.confirm();
  });
  ringline.addEventListener("error", (event) => event.preventDefault());
  const call: Call = ringline.call("10", { video: true });
  call.addEventListener("info", ({ value }) => console.log(value));
  call.sendInfo({ nested: [1, null, "x"] });
  call.mute({ audio: true });
  const registration = await navigator.serviceWorker.ready;
  const permission: NotificationPermission = await ringline.enableWebPush({ serviceWorker: registration, texts: { answer: "応答" } });
  const subscription = await registration.pushManager.getSubscription();
  if (permission === "granted" && subscription !== null) await ringline.registerWebPush(subscription);
  await ringline.registerWebPush(JSON.parse(JSON.stringify(subscription)) as PushSubscriptionJSON);
  await ringline.enableWebPush({ serviceWorker: new URL("https://example.com/service-worker.js"), page: "/calls" });
  await ringline.disableWebPush();
  const stream: MediaStream | null = call.remoteStream;
  const skew: number | null = ringline.clockSkew;
  const past: PastCall[] = await ringline.history();
  const more = await ringline.history({ limit: 2, before: past[0]?.id }).catch((error) => {
    if (error instanceof RequestError && error.status === 429) console.log(error.code);
    return [];
  });
  console.log(more[0]?.direction === "missed", more[0]?.reason === "hangup", past[0]?.endedAt ?? Date.now());
  console.log(stream, skew, ringline.mediaConnection(call)?.connectionState);
  ringline.close();
  // The next launch.
  await Ringline.create({ ...options, clockSkew: skew });
}

void use;
