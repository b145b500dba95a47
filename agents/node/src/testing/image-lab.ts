import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ContainerImage, InstanceLog, type InstanceSpec, type NodeSpec, type Observed } from '@orrery/contract';
import { DockerSandbox, dockerMissing, NF_IMAGE } from './docker-sandbox.js';
import { hostImage, hostTar } from './host-image.js';
import { Lab, NODE_MAC } from './lab.js';
import { until } from './scratch.js';
import { instance, nodeSpec, output } from './specs.js';

const REGISTRY = fileURLToPath(new URL('./registry.mjs', import.meta.url));

let logsAsked = 0;

export const NF = 'img.nf.0';
export const REFERENCE = 'test/tools:1';
export const TOOLS = ['sh', 'nft', 'sleep', 'cat', 'test', 'touch'];

export const imagesMissing = dockerMissing;

export type ImageInput = Partial<Record<keyof ContainerImage, unknown>>;

/** A packet filter: ready once its rules are in the kernel. */
export const FILTER: ImageInput = {
  entrypoint: ['/bin/sh', '-c', 'nft -f {{dir}}/ruleset.nft && exec sleep infinity'],
  files: [
    {
      name: 'ruleset.nft',
      content:
        'flush ruleset\ntable bridge filter {\n  chain forward {\n    type filter hook forward priority filter; policy accept;\n    {{rules}}\n  }\n}\n',
    },
  ],
  capabilities: ['NET_ADMIN'],
  health: { by: 'command', command: ['nft', 'list', 'chain', 'bridge', 'filter', 'forward'], interval_s: 0.5 },
};

export function filterChain(
  generation: number,
  rules: string[],
  image: ImageInput = {},
  more: Partial<InstanceSpec> = {},
): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [
      instance(NF, {
        driver: 'container',
        nf: 'mine',
        config: { rules },
        image: ContainerImage.parse({
          ...{ reference: REFERENCE, pull: 'never', forwarding: 'bridge', preserves: ['metadata', 'ingress-time'] },
          ...FILTER,
          ...image,
        }),
        outputs: [output('img.e1', { kind: 'exit', exit_id: 'img.exit' })],
        ...more,
      }),
    ],
    hops: [{ hop: 1, instance_id: NF, direction: 'forward' }],
    exits: [{ exit_id: 'img.exit', chain_id: 'img', direction: 'forward' }],
  });
}

export const nothing = (generation: number): NodeSpec => nodeSpec({ generation, nic: { iface: 'e0', mac: NODE_MAC } });

/** A node with a Docker of its own that runs an image. */
export class ImageLab extends Lab {
  agent!: ChildProcess;

  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  static async start({
    sandbox = new DockerSandbox(),
    hasImage = true,
    flags = [] as string[],
  } = {}): Promise<ImageLab> {
    await sandbox.setUp();
    if (hasImage) await hostImage(sandbox.client, REFERENCE, TOOLS);
    const lab = new ImageLab(sandbox);
    lab.seesControlGroups = true;
    await lab.setUp();
    lab.agent = lab.startAgent(...flags);
    await lab.server.next('hello');
    return lab;
  }

  override startAgent(...more: string[]): ChildProcess {
    return super.startAgent('--docker', this.docker.socket, '--nf-image', NF_IMAGE, ...more);
  }

  async desire(spec: NodeSpec): Promise<void> {
    this.server.send({ type: 'desired', spec });
    await this.observes(
      `converged ${spec.generation}`,
      (it) => it.state === 'converged' && it.generation === spec.generation,
    );
  }

  /** Resolves with the latest report as soon as it fits. */
  observes(what: string, fits: (observed: Observed) => boolean): Promise<Observed> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      return observed && fits(observed) ? observed : null;
    };
    return until(what, latest, 40_000).catch((error) => {
      throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
    });
  }

  /** Resolves with what the instance says once it says this. */
  async detail(what: RegExp): Promise<string> {
    const of = (it: Observed) => it.instances[0]?.detail ?? it.error ?? '';
    return of(await this.observes(String(what), (it) => what.test(of(it))));
  }

  async passed(dport: number, count = 3, seconds = 3): Promise<number> {
    return (await this.exchange({ hop: 1, count, expect: count, dport, seconds })).length;
  }

  crosses(): Promise<unknown> {
    return until('a packet crosses', async () => (await this.passed(80, 1, 0.5)) === 1, 40_000).catch((error) => {
      throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
    });
  }

  /** A registry that has one image of these programs, under any name; ends with the test. `login`: USER:PASSWORD that it asks for. */
  async serveImage(port: number, programs: readonly string[], ...login: [string?]): Promise<ChildProcess> {
    const args = [...this.docker.enter, process.execPath, REGISTRY, hostTar(programs), String(port), ...login];
    const registry = spawn(args[0]!, args.slice(1) as string[], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(registry.stdout!, 'data');
    return registry;
  }

  /** Whether the agent or its Docker has the words in a file. */
  keeps(words: string): boolean {
    const { status } = spawnSync('grep', ['-rqFD', 'skip', words, this.directory, this.docker.directory]);
    return status === 0;
  }

  /** Makes a file in the container of a process. */
  touch(pid: number, path: string): void {
    this.run('nsenter', '-t', String(pid), '-m', '--', '/bin/touch', path);
  }

  /** Events of a type, in words. */
  told(type: string): string[] {
    return this.server.all('event').flatMap(({ event, message }) => (event === type ? [message] : []));
  }

  async log(after?: string): Promise<InstanceLog> {
    const id = `log-${logsAsked++}`;
    const params = { lines: 10, ...(after === undefined ? {} : { after }) };
    this.server.send({ type: 'call', id, method: 'read_log', instance_id: NF, params });
    const { result } = await this.server.next('reply', (reply) => reply.id === id);
    return InstanceLog.parse(result);
  }

  async state(): Promise<{ pid: number; container: { id: string; ends: number } & Record<string, unknown> }> {
    return (await this.instanceState(NF)) as never;
  }
}
