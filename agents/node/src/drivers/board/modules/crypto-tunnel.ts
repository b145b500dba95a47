import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { at, field, word } from '../fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import { WrappingCounters } from '../wrapping-counters.js';
import { addressNumber } from './addresses.js';
import { readConfig } from './config.js';
import { Word32 } from './flows.js';
import type { ModuleAdapter, ModuleSession, SlotAccess } from './module-adapter.js';
import { stateRows } from './state-rows.js';

const { registers } = BOARD_MODULES.nf_crypto_tunnel;
const { TABLE_COMMAND, TABLE_DATA, TABLE_STATUS } = COMMON_REGISTERS;
const READ = 1;
const PUT = 2;
const ENTRY_WORDS = 8;
/** Entries of the table: the sessions, then the windows of two of them in quarters. */
const SESSIONS = 0;
const WINDOWS = 1;
const QUARTERS = 4;
const WINDOW_WORDS = QUARTERS * ENTRY_WORDS;
const KEY_BYTES = 32;
/** Bytes around the encrypted text: outer IPv4 header, ESP header, IV and ICV; and UDP's. */
const AROUND_BYTES = 52;
const UDP_BYTES = 8;

const Address = z.ipv4().refine((text) => addressNumber(text) !== 0, 'must be an IPv4 address');
const TunnelConfig = z
  .strictObject({
    mode: z.enum(['encrypt', 'decrypt']).default('encrypt'),
    key: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits (256 bits)')
      .refine((key) => /[^0]/.test(key), 'must not be zero'),
    near_address: Address.default('192.0.2.1'),
    far_address: Address.default('192.0.2.2'),
    cipher: z.enum(['aes-128-ctr', 'aes-256-ctr']).default('aes-128-ctr'),
    /** Of the CPU; a board has none. */
    acceleration: z.enum(['instructions', 'none']).default('instructions'),
    encapsulation: z.enum(['udp', 'none']).default('udp'),
    mtu: z.int().min(576).max(1500).default(1500),
    clamp_mss: z.boolean().default(true),
    session_packets: z.int().min(1_048_576).max(0xffffffff).default(0xffffffff),
  })
  .refine((config) => config.near_address !== config.far_address, {
    path: ['far_address'],
    message: 'must differ from near_address',
  });
type TunnelConfig = z.infer<typeof TunnelConfig>;

/** As agents/nfs/crypto-tunnel/state.cc writes it: 16 words of 64 bits in hexadecimal digits. */
const Sessions = z.strictObject({
  outbound_spi: Word32,
  inbound: z
    .array(
      z.strictObject({
        spi: Word32.min(1),
        highest: Word32,
        window: z.string().regex(/^[0-9a-fA-F]{256}$/, 'must be 256 hexadecimal digits'),
      }),
    )
    .max(2),
});
type Sessions = z.infer<typeof Sessions>;

const FIGURES = [
  registers.SESSIONS_SENT,
  registers.SESSIONS_RECEIVED,
  registers.PROTECTED_PACKETS,
  registers.PROTECTED_BYTES,
  registers.UNPROTECTED_PACKETS,
  registers.UNPROTECTED_BYTES,
  registers.ARP,
].map(({ address }) => address);

const nowS = (): number => Math.min(Math.floor(Date.now() / 1000), 0xffffffff);
/** The longest packet whose encrypted form is not longer than the MTU. */
const largestPacket = ({ mtu, encapsulation }: TunnelConfig): number =>
  Math.floor((mtu - AROUND_BYTES - (encapsulation === 'udp' ? UDP_BYTES : 0)) / 4) * 4 - 2;
const hex = (value: number): string => value.toString(16).padStart(8, '0');

class TunnelSession implements ModuleSession {
  private readonly counters = new WrappingCounters();
  /** Table commands run one at a time. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly slot: SlotAccess,
    private readonly config: TunnelConfig,
  ) {}

  event(): void {}

  /** Sessions are named for the time at which they begin; bytes are summed before they wrap. */
  async tick(): Promise<void> {
    await this.slot.writeRegisters([[registers.NEXT_SESSION.address, nowS()]]);
    await this.figures();
  }

  async state(limit: number): Promise<Record<string, unknown>> {
    const { outbound, inbound } = await this.alone(() => this.sessions());
    const [sent, received, protectedPackets, protectedBytes, unprotectedPackets, unprotectedBytes, arp] =
      await this.figures();
    return {
      mode: this.config.mode,
      cipher: this.config.cipher,
      outbound: outbound.sequence === 0 ? null : outbound,
      inbound: inbound.slice(0, limit).map(({ spi, highest }) => ({ spi, highest_sequence: highest })),
      sessions_sent: sent,
      sessions_received: received,
      protected: { packets: protectedPackets, bytes: protectedBytes },
      unprotected: { packets: unprotectedPackets, bytes: unprotectedBytes },
      arp,
    };
  }

  exportState(): Promise<Sessions> {
    return this.alone(async () => {
      const { outbound, inbound } = await this.sessions();
      const received = [];
      for (const [n, session] of inbound.entries())
        received.push({ ...session, window: await this.window(WINDOWS + QUARTERS * n) });
      return { outbound_spi: outbound.spi, inbound: received };
    });
  }

  async importState(state: Record<string, unknown>): Promise<void> {
    const { outbound_spi, inbound } = stateRows(Sessions, state);
    await this.alone(async () => {
      await this.put(SESSIONS, [outbound_spi]);
      for (const { spi, highest, window } of inbound) {
        const words = Array.from({ length: WINDOW_WORDS }, (_, n) =>
          Number.parseInt(window.slice(8 * (n ^ 1), 8 * (n ^ 1) + 8), 16),
        );
        for (let quarter = 0; quarter < QUARTERS; quarter++)
          await this.put(WINDOWS + quarter, words.slice(ENTRY_WORDS * quarter, ENTRY_WORDS * (quarter + 1)));
        await this.put(SESSIONS, [0, spi, highest]);
      }
    });
  }

  private async figures(): Promise<readonly number[]> {
    return this.counters.add(await this.slot.readRegisters(FIGURES));
  }

  /** Reading the sessions copies their windows, which are read at leisure then. */
  private async sessions() {
    const [spi, sequence, ...rest] = await this.entry(SESSIONS);
    const inbound = [rest.slice(0, 2), rest.slice(2, 4)]
      .map(([one, highest]) => ({ spi: one!, highest: highest! }))
      .filter((session) => session.spi !== 0);
    return { outbound: { spi: spi!, sequence: sequence! }, inbound };
  }

  private async window(first: number): Promise<string> {
    const words: number[] = [];
    for (let quarter = 0; quarter < QUARTERS; quarter++) words.push(...(await this.entry(first + quarter)));
    return words.map((_, n) => hex(words[n ^ 1]!)).join('');
  }

  private async entry(index: number): Promise<number[]> {
    await this.command(READ, index);
    return this.slot.readRegisters(Array.from({ length: ENTRY_WORDS }, (_, n) => at(TABLE_DATA, n)));
  }

  private async put(index: number, words: readonly number[]): Promise<void> {
    await this.slot.writeRegisters(
      Array.from({ length: ENTRY_WORDS }, (_, n) => [at(TABLE_DATA, n), words[n] ?? 0] as const),
    );
    await this.command(PUT, index);
  }

  private async command(operation: number, index: number): Promise<void> {
    const command = word(TABLE_COMMAND, { OPERATION: operation, INDEX: index });
    await this.slot.writeRegisters([[TABLE_COMMAND.address, command]]);
    for (;;) {
      const [status] = await this.slot.readRegisters([TABLE_STATUS.address]);
      if (field(TABLE_STATUS.fields.BUSY, status!) === 0) return;
      await sleep(1);
    }
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    const next = this.last.then(work, work);
    this.last = next.catch(() => {});
    return next;
  }
}

export const cryptoTunnel: ModuleAdapter = {
  nf: 'crypto-tunnel',
  attribute: null,
  configure(values) {
    const config = readConfig(TunnelConfig, values);
    const near = addressNumber(config.near_address);
    const far = addressNumber(config.far_address);
    const encrypts = config.mode === 'encrypt';
    const key = Buffer.from(config.key, 'hex');
    const options = word(registers.OPTIONS, {
      RETURN: Number(!encrypts),
      KEY_256: Number(config.cipher === 'aes-256-ctr'),
      UDP: Number(config.encapsulation === 'udp'),
      CLAMP_MSS: Number(config.clamp_mss),
    });
    return [
      [registers.OPTIONS.address, options],
      [registers.LOCAL.address, encrypts ? near : far],
      [registers.PEER.address, encrypts ? far : near],
      [registers.LARGEST.address, largestPacket(config)],
      [registers.SESSION_PACKETS.address, config.session_packets],
      ...Array.from({ length: KEY_BYTES / 4 }, (_, n) => [at(registers.KEY, n), key.readUInt32LE(4 * n)] as const),
    ];
  },
  async begin(slot, values, fresh) {
    const iv = randomBytes(8);
    await slot.writeRegisters([
      [registers.NEXT_SESSION.address, nowS()],
      // A session that goes on keeps its IVs, which must not repeat under its keys.
      ...(fresh ? [0, 1].map((n) => [at(registers.IV, n), iv.readUInt32LE(4 * n)] as const) : []),
    ]);
    return new TunnelSession(slot, readConfig(TunnelConfig, values));
  },
};
