// Serves one GGUF model as chat completions on 127.0.0.1, one request at a time:
//   node server.mjs NODE-LLAMA-CPP/dist/index.js MODEL.gguf PORT CONTEXT
// The model's calls stay in its text, as with servers that don't parse them. It prints "ready" when it serves.
import http from "node:http";
import {pathToFileURL} from "node:url";

const [library, modelPath, port, contextSize] = process.argv.slice(2);
const {getLlama, LlamaCompletion} = await import(pathToFileURL(library).href);
const llama = await getLlama({gpu: false, build: "never"});
const model = await llama.loadModel({modelPath});
// More threads than cores wait for each other at every token.
const context = await model.createContext({contextSize: Number(contextSize), threads: llama.cpuMathCores});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});

/** The conversation in ChatML, with tools as Qwen 2.5 was trained on them. */
function render({messages, tools = []}) {
    const system = messages.filter((message) => message.role === "system").map((message) => message.content);
    if (tools.length > 0)
        system.push(
            "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
            "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n" +
            tools.map((tool) => JSON.stringify(tool)).join("\n") + "\n</tools>\n\n" +
            "For each function call, return a json object with function name and arguments within " +
            "<tool_call></tool_call> XML tags:\n<tool_call>\n" +
            "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
        );
    let text = `<|im_start|>system\n${system.join("\n\n")}<|im_end|>\n`;
    for (const message of messages.filter((message) => message.role !== "system")) {
        const calls = (message.tool_calls ?? []).map((call) => {
            const {name, arguments: args} = call.function;
            return `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`;
        });
        const role = message.role === "tool" ? "user" : message.role;
        const content = message.role === "tool" ? `<tool_response>\n${message.content}\n</tool_response>` : message.content;
        text += `<|im_start|>${role}\n${[content, ...calls].filter(Boolean).join("\n")}<|im_end|>\n`;
    }
    return text + "<|im_start|>assistant\n";
}

async function answer(body) {
    const prompt = model.tokenize(render(body), true);
    const room = Number(contextSize) - prompt.length;
    if (room < (body.max_tokens ?? 256))
        return {status: 400, json: {error: {message: `This model's maximum context length is ${contextSize} tokens. ` +
            `However, you requested ${prompt.length + (body.max_tokens ?? 256)} tokens.`}}};
    const {response, metadata} = await completion.generateCompletionWithMeta(prompt, {
        maxTokens: body.max_tokens ?? 256, temperature: body.temperature ?? 0.7,
        customStopTriggers: ["<|im_end|>", "<|endoftext|>"]
    });
    const written = model.tokenize(response).length;
    return {
        status: 200, prompt: prompt.length, written,
        text: response, reason: metadata.stopReason === "maxTokens" ? "length" : "stop"
    };
}

let last = Promise.resolve();
const server = http.createServer((request, response) => {
    if (request.method === "GET") {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify({data: [{id: "local", max_model_len: Number(contextSize)}]}));
    }
    let text = "";
    request.on("data", (piece) => text += piece);
    request.on("end", () => {
        last = last.then(() => answer(JSON.parse(text))).then(({status, json, text, reason, prompt, written}) => {
            if (json != null) {
                response.writeHead(status, {"content-type": "application/json"});
                return response.end(JSON.stringify(json));
            }
            response.writeHead(200, {"content-type": "text/event-stream"});
            const usage = {prompt_tokens: prompt, completion_tokens: written};
            const chunk = {choices: [{index: 0, delta: {content: text}, finish_reason: reason}], usage};
            response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
        }).catch((error) => {
            response.writeHead(500, {"content-type": "application/json"});
            response.end(JSON.stringify({error: {message: String(error)}}));
        });
    });
});
server.listen(Number(port), "127.0.0.1", () => console.log("ready"));
