import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

const PYTHON = '/usr/bin/python3';

/** Echoes every datagram. */
export const ECHO = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 7)); print('echoes', flush=True)
while True: s.sendto(*s.recvfrom(99))
`;

/** Numbers each flow's datagrams and notes its answers, one after the other, until its input ends. */
const sender = (to: string, first: number, count: number) => `
import json, select, socket, sys, time
flows = {}
for port in range(${first}, ${first + count}):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(('', port)); s.connect(('${to}', 7)); s.setblocking(False)
    flows[s] = {'port': port, 'sent': 0, 'answers': []}
def take(seconds):
    for s in select.select(list(flows), [], [], seconds)[0]:
        flows[s]['answers'].append(int(s.recv(99)))
asked = False
while not asked:
    for s, flow in flows.items():
        s.send(b'%d' % flow['sent'])
        flow['sent'] += 1
    until = time.monotonic() + 0.05
    while (left := until - time.monotonic()) > 0: take(left)
    asked = bool(select.select([sys.stdin], [], [], 0)[0])
until = time.monotonic() + 3
while (left := until - time.monotonic()) > 0 and any(len(f['answers']) < f['sent'] for f in flows.values()): take(left)
print(json.dumps(list(flows.values())))
`;

/** A flow of numbered datagrams to an echo: how many were sent, and which were answered, in the order of the answers. */
interface NumberedFlow {
  readonly port: number;
  readonly sent: number;
  readonly answers: readonly number[];
}

/** Words of a command that run what follows them in the network namespace of a host. */
type Enter = readonly string[];

function inside([program = '', ...words]: Enter, script: string) {
  const child = spawn(program, [...words, PYTHON, '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.setEncoding('utf8');
  return child;
}

/** Echoes what comes to a host until the test ends; resolves once it does. */
export async function echoAt(host: Enter): Promise<void> {
  await once(inside(host, ECHO).stdout, 'data');
}

/** Flows from a host to the echo at an address, by their source ports. Each sends 20 datagrams a second until `end`. */
export function sendFlows(host: Enter, to: string, first: number, count: number) {
  const child = inside(host, sender(to, first, count));
  let told = '';
  child.stdout.on('data', (text) => {
    told += text;
  });
  const ended = once(child, 'close');
  return {
    /** Resolves when all is answered, or no answer has come for 3 s. */
    async end(): Promise<NumberedFlow[]> {
      child.stdin.end('\n');
      await ended;
      return JSON.parse(told);
    },
  };
}

/** Whether each datagram was answered, once and in its turn. */
export function isWhole({ sent, answers }: NumberedFlow): boolean {
  return answers.length === sent && answers.every((number, turn) => number === turn);
}
