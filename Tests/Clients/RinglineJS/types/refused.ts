// Uses of the module that must not compile. Each line after a comment `// error` must be an error, and no other line.
import { Call, Ringline, type Options } from "../../../../Sources/Clients/RinglineJS/ringline.js";

declare const ringline: Ringline;
declare const call: Call;
declare const options: Options;

// error: the token is missing
void Ringline.create({ url: "https://calls.example.com", user: "11", device: "web-a" });
// error: a misspelled option
void Ringline.create({ ...options, displayname: "Taro" });
// error: a user id is a string
ringline.call(10);
// error: the constructor is private
new Ringline();
// error: calls are made by a Ringline
new Call();
// error: no such reason
call.end("bored");
// error: no such event
ringline.addEventListener("ring", () => {});
// error: the event has no such member
call.addEventListener("ended", ({ digits }) => digits);
// error: a page of the history begins at a number
void ringline.history({ before: "7" });
// error: a function is no JSON value
call.sendInfo(() => 1);
// error: a confirmation has no value
call.confirm("yes");
// error: state is read-only
call.state = "ended";
// error: the stream may be missing
call.remoteStream.getTracks();
// error: an engine needs close
void Ringline.create({ ...options, engine: () => ({ perform() {} }) });
// error: a misspelled text
void ringline.enableWebPush({ texts: { reject: "Decline" } });
// error: no subscription
void ringline.registerWebPush("https://push.example.com/1");
// error: answered by the user, not by assignment
call.isAnswered = true;
