import { API_PREFIX } from '../api.js';
import { jsonSchemaBundle } from './json-schema.js';

/** AsyncAPI 3 of what is pushed: the console's stream, the agents' protocol and the event log as server-sent events. */
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
        'The first message of a client authenticates. Events carry the id of the log: a client that reconnects with it ' +
        'gets every later event once. `reset` says that the log was trimmed and resources must be read anew. Samples ' +
        'hold the newest value a key.',
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
      agent: channel(`${API_PREFIX}/agent`, 'console', { client: 'AgentMessage', server: 'ServerMessage' }),
      events: channel(`${API_PREFIX}/events/stream`, 'sse', { server: 'Event' }),
    },
    operations: {
      receiveFromConsole: operation('stream', 'receive', 'client', 'A console authenticates and chooses samples'),
      sendToConsole: operation('stream', 'send', 'server', 'Events, samples and SLOs'),
      receiveFromAgent: operation('agent', 'receive', 'client', 'An agent joins and reports'),
      sendToAgent: operation('agent', 'send', 'server', 'Desired state and calls'),
      sendEvents: operation('events', 'send', 'server', 'One event a message, `id:` is the resume point'),
    },
    components: { schemas },
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
