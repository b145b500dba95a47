import { execFile } from 'node:child_process';

/**
 * Changing thousands of flows takes a second on a busy machine; a switch that takes longer than this counts as hung.
 */
const LIMIT_MS = 5000;
/** What ovs-ofctl says where there is no process behind the socket. */
const NOBODY_LISTENS = /is not a bridge or a socket|failed to (open|connect)|Connection refused/;
const OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024;

export interface HeldFlow {
  readonly cookie: string;
  readonly packets: number;
  readonly bytes: number;
  /** Table, priority, match and actions as the switch writes them. */
  readonly content: string;
}

export interface HeldMeter {
  readonly content: string;
  /** Dropped. */
  readonly packets: number;
  readonly bytes: number;
}

export interface OfPort {
  readonly number: number;
  readonly up: boolean;
}

/** One bridge, controlled by `ovs-ofctl` through its management socket. */
export class Ofctl {
  /** Path of the management socket. */
  readonly socket: string;
  private readonly target: string;

  constructor(
    readonly bridge: string,
    runDir: string,
  ) {
    this.socket = `${runDir}/${bridge}.mgmt`;
    this.target = `unix:${this.socket}`;
  }

  version(): Promise<string> {
    return this.run(['--version']).then((text) => text.split('\n')[0]!.replace(/^ovs-ofctl /, ''));
  }

  /** By interface name. */
  async ports(): Promise<Map<string, OfPort>> {
    const text = await this.run(['dump-ports-desc', this.target]);
    const ports = new Map<string, OfPort>();
    for (const [, number, name, rest] of text.matchAll(/^ (\d+)\(([^)]+)\):(.*(?:\n {5}.*)*)/gm))
      ports.set(name!, { number: Number(number), up: !/PORT_DOWN|LINK_DOWN/.test(rest!) });
    return ports;
  }

  async flows(): Promise<HeldFlow[]> {
    const text = await this.run(['--no-names', 'dump-flows', this.target]);
    return text.split('\n').flatMap((line) => {
      const found =
        /^ cookie=(0x[0-9a-f]+), duration=[^,]+, (table=\d+, )n_packets=(\d+), n_bytes=(\d+), (?:idle_age=\d+, )?(?:hard_age=\d+, )?(.*)$/.exec(
          line,
        );
      if (!found) return [];
      const [, cookie, table, packets, bytes, rest] = found;
      return [{ cookie: cookie!, packets: Number(packets), bytes: Number(bytes), content: table! + rest! }];
    });
  }

  /** Group text by number, without the number. */
  async groups(): Promise<Map<number, string>> {
    const text = await this.run(['--no-names', 'dump-groups', this.target]);
    return new Map(
      [...text.matchAll(/^ group_id=(\d+),(.*)$/gm)].map(([, id, content]) => [Number(id), content!] as const),
    );
  }

  /** What each meter is, by number, and how much it has dropped. */
  async meters(): Promise<Map<number, HeldMeter>> {
    const [configured, counted] = [
      await this.run(['dump-meters', this.target]),
      await this.run(['meter-stats', this.target]),
    ];
    const drops = new Map(
      [...counted.matchAll(/meter:(\d+) .*\n0: packet_count:(\d+) byte_count:(\d+)/g)].map(([, id, packets, bytes]) => [
        Number(id),
        { packets: Number(packets), bytes: Number(bytes) },
      ]),
    );
    return new Map(
      [...configured.matchAll(/^meter=(\d+) (.*)\n(.*)$/gm)].map(([, id, flags, band]) => {
        const { packets = 0, bytes = 0 } = drops.get(Number(id)) ?? {};
        return [Number(id), { content: `${flags!.trim()} ${band!.trim()}`, packets, bytes }];
      }),
    );
  }

  async writeMeter(text: string, isKnown: boolean): Promise<void> {
    await this.run([isKnown ? 'mod-meter' : 'add-meter', this.target, text]);
  }

  async deleteMeter(id: number): Promise<void> {
    await this.run(['del-meter', this.target, `meter=${id}`]);
  }

  /** From now on entries that match ports without a word on fragments also take the first ones, which carry them. */
  async matchPortsOfFirstFragments(): Promise<void> {
    await this.run(['set-frags', this.target, 'nx-match']);
  }

  /** All or none. */
  async writeGroups(texts: readonly string[]): Promise<void> {
    if (texts.length > 0) await this.run(['--bundle', '--may-create', 'mod-group', this.target, '-'], texts);
  }

  async deleteGroups(ids: readonly number[]): Promise<void> {
    const texts = ids.map((id) => `group_id=${id}`);
    if (texts.length > 0) await this.run(['del-groups', this.target, '-'], texts);
  }

  /** In one transaction; unchanged flows are not touched. */
  async replaceFlows(texts: readonly string[]): Promise<void> {
    await this.run(['--bundle', 'replace-flows', this.target, '-'], texts);
  }

  /** Deletions and additions in one transaction; all other flows are not touched, nor those that the switch adds meanwhile. */
  async changeFlows(changes: readonly string[]): Promise<void> {
    if (changes.length > 0) await this.run(['--bundle', 'add-flows', this.target, '-'], changes);
  }

  private run(args: readonly string[], input: readonly string[] = []): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: OUTPUT_LIMIT_BYTES } as const;
      const child = execFile('ovs-ofctl', ['-O', 'OpenFlow15', ...args], options, (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const said = NOBODY_LISTENS.test(stderr) ? `its process does not answer at ${this.socket}` : stderr.trim();
        const why = error.killed ? `does not answer within ${LIMIT_MS / 1000} s` : said || error.message;
        reject(new Error(`Open vSwitch, bridge ${this.bridge}: ${why.slice(0, 500)}`));
      });
      // The callback reports an early exit.
      child.stdin!.on('error', () => undefined);
      child.stdin!.end(input.join('\n'));
    });
  }
}
