import { API_PREFIX } from '../api.js';
import { EVENTS, EventType } from '../events/event.js';
import { eventSchemaName, jsonSchemaBundle } from './json-schema.js';

/** AsyncAPI 3 of the push interfaces: the console's stream, the agent protocol and the event log as server-sent events. */
export function asyncApi(version: string): Record<string, unknown> {
  const schemas = Object.fromEntries(
    Object.entries(jsonSchemaBundle().$defs as Record<string, unknown>).map(([name, schema]) => [
      name,
      JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')),
    ]),
  );
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Orrery streams',
      version,
      description:
        'The first message of a client authenticates. Events carry their id in the log: a client that reconnects with it ' +
        'gets every later event exactly once. `reset` means that the log was trimmed and the client must read resources ' +
        'again. Samples contain only the newest value per key.',
    },
    defaultContentType: 'application/json',
    servers: {
      console: { host: '127.0.0.1:8080', protocol: 'ws' },
      sse: { host: '127.0.0.1:8080', protocol: 'http' },
    },
    channels: {
      stream: channel(`${API_PREFIX}/stream`, 'console', {
        client: 'StreamClientMessage',
        server: 'StreamServerMessage',
      }),
      shell: channel(`${API_PREFIX}/shell`, 'console', { client: 'ShellClientMessage', server: 'ShellServerMessage' }),
      agent: channel(`${API_PREFIX}/agent`, 'console', { client: 'AgentMessage', server: 'ServerMessage' }),
      events: {
        address: `${API_PREFIX}/events/stream`,
        servers: [{ $ref: '#/servers/sse' }],
        messages: Object.fromEntries(EventType.options.map((type) => [type, eventMessage(type)])),
      },
    },
    operations: {
      receiveFromConsole: operation('stream', 'receive', 'client', 'A console authenticates and subscribes to samples'),
      sendToConsole: operation('stream', 'send', 'server', 'Events, samples and SLOs'),
      receiveFromTerminal: operation(
        'shell',
        'receive',
        'client',
        'An administrator opens a shell in a container and types',
      ),
      sendToTerminal: operation('shell', 'send', 'server', 'What the shell writes, and its end'),
      receiveFromAgent: operation('agent', 'receive', 'client', 'An agent joins and reports'),
      sendToAgent: operation('agent', 'send', 'server', 'Desired state and calls'),
      sendEvents: {
        action: 'send',
        summary: 'One event per message; `id:` is the resume point',
        channel: { $ref: '#/channels/events' },
      },
    },
    components: { schemas },
  };
}

function eventMessage(type: EventType): unknown {
  return {
    name: type,
    title: EVENTS[type].title,
    payload: { $ref: `#/components/schemas/${eventSchemaName(type)}` },
  };
}

function channel(address: string, server: string, messages: Record<string, string>): unknown {
  return {
    address,
    servers: [{ $ref: `#/servers/${server}` }],
    messages: Object.fromEntries(
      Object.entries(messages).map(([side, type]) => [
        side,
        { name: type, payload: { $ref: `#/components/schemas/${type}` } },
      ]),
    ),
  };
}

function operation(channelName: string, action: 'send' | 'receive', side: string, summary: string): unknown {
  return {
    action,
    summary,
    channel: { $ref: `#/channels/${channelName}` },
    messages: [{ $ref: `#/channels/${channelName}/messages/${side}` }],
  };
}
