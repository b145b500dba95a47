import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ChainDefinition } from '@orrery/contract';

const run = promisify(execFile);

const LIMIT_MS = 240_000;
/** Address of the server to which the tunnel leads. */
export const SERVER = '10.0.2.1';
const PORT = 7070;
const KEY = '5f1d3b9a7c2e4f60815d2c3e4a5b6978c0ffee1122334455d00df00dcafebabe';

interface Tunnel {
  readonly rate_bps: number;
  readonly cipher?: 'aes-128-ctr';
  /** Of each end. */
  readonly cpu_limit?: number;
}

/** A tunnel from client-1 to the server; its ends are the NFs `near` and `far`. */
export function tunnelChain({ rate_bps, cipher, cpu_limit }: Tunnel): ChainDefinition {
  const end = (id: string, mode: string) => ({
    id,
    kind: 'nf',
    nf: 'crypto-tunnel',
    config: { mode, key: KEY, acceleration: 'none', ...(cipher ? { cipher } : {}) },
    ...(cpu_limit ? { cpu_limit } : {}),
  });
  return ChainDefinition.parse({
    name: 'vpn',
    title: 'VPN',
    traffic_class: {
      from: ['client-1'],
      match: [{ attribute: 'ip.dst', value: `${SERVER}/32` }],
      rate_bps,
      packet_bytes: 1300,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      end('near', 'encrypt'),
      end('far', 'decrypt'),
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'near' },
      { id: 'e2', from: 'near', to: 'far' },
      { id: 'e3', from: 'far', to: 'out' },
    ],
  });
}

/** Takes one connection, and tells how many bytes came and their SHA-256 once it ends. */
export const RECEIVE = `
import hashlib, socket
s = socket.create_server(("", ${PORT})); c, _ = s.accept(); h = hashlib.sha256(); n = 0
while d := c.recv(1 << 16): h.update(d); n += len(d)
c.sendall(b"all"); print(n, h.hexdigest())`;

/** Connects to who runs `RECEIVE` and runs lines of Python that send bytes of `r` by `send`. Tells what that is to tell, and the seconds. */
export function sending(mss: number, lines: string): string {
  return `
import hashlib, os, random, socket, time
while True:
    s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, ${mss})
    if s.connect_ex(("${SERVER}", ${PORT})) == 0: break
    time.sleep(0.2)
r = random.Random(7); h = hashlib.sha256(); n = 0; begin = time.monotonic()
def send(d):
    global n
    h.update(d); s.sendall(d); n += len(d)
${lines}
s.shutdown(socket.SHUT_WR); assert s.recv(9) == b"all"; print(n, h.hexdigest(), time.monotonic() - begin)`;
}

/** Runs a command on a host, of which `enter` says how; resolves with what it prints. */
export async function onHost(enter: readonly string[], ...command: readonly string[]): Promise<string> {
  const [program = '', ...words] = [...enter, ...command];
  return (await run(program, words, { timeout: LIMIT_MS, maxBuffer: 1 << 24 })).stdout;
}

export function pythonOnHost(enter: readonly string[], script: string): Promise<string> {
  return onHost(enter, '/usr/bin/python3', '-c', script);
}

/** Has a host cut what it sends to the server itself: Open vSwitch would cut it to the MTU of the link, and not to the MSS. */
export async function sendSegments(enter: readonly string[]): Promise<void> {
  const [{ dev }] = JSON.parse(await onHost(enter, 'ip', '-j', 'route', 'get', SERVER));
  await onHost(enter, 'ip', 'link', 'set', 'dev', dev, 'gso_max_segs', '1');
}
