import type * as Grpc from '@grpc/grpc-js';
import type { Root } from 'protobufjs';
import { failureWords } from './failure-words.js';
import type { Arbitration, DigestList, ElectionId, Entity, Notice, PipelineConfig, Update } from './messages.js';
import { protocol } from './protocol.js';

const CALL_TIMEOUT_MS = 5000;
/** Of a batch: what a simple_switch_grpc takes well within the time for a call. */
const UPDATES_A_CALL = 2000;
const MOST_BYTES = 64 << 20;

/** A call failed; `code` is that of gRPC. */
export class P4RuntimeError extends Error {
  override name = 'P4RuntimeError';
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }

  /** Of the device; otherwise it could not be asked in time. */
  get isAnswer(): boolean {
    return this.code !== DEADLINE_EXCEEDED && this.code !== UNAVAILABLE;
  }
}

/**
 * One device behind P4Runtime, to which this is the primary controller while nobody has a higher election id. Every call ends
 * within its deadline, and rejects with a P4RuntimeError that names the address.
 */
export class P4RuntimeClient {
  private client: Grpc.Client | null = null;
  private root: Root | null = null;
  private stream: Grpc.ClientDuplexStream<object, object> | null = null;
  private arbitration: Promise<void> | null = null;
  private listener: (notice: Notice) => void = () => undefined;
  /** Of two controllers the one that started later writes. */
  private electionId: ElectionId = { high: '0', low: String(BigInt(Date.now())) };

  /** `address` as gRPC has it: `unix:/path` or `host:port`. */
  constructor(
    readonly address: string,
    readonly deviceId: string,
  ) {}

  /** `listener` gets the digests and idle entries that the device tells while this is its primary controller. */
  listen(listener: (notice: Notice) => void): void {
    this.listener = listener;
  }

  async capabilities(deadlineMs = CALL_TIMEOUT_MS): Promise<string> {
    const { p4runtimeApiVersion } = (await this.call('capabilities', {}, deadlineMs)) as {
      p4runtimeApiVersion?: string;
    };
    return p4runtimeApiVersion ?? 'of unknown version';
  }

  /** The cookie of the pipeline; null: there is none. */
  async pipelineCookie(): Promise<string | null> {
    try {
      const request = { deviceId: this.deviceId, responseType: 'COOKIE_ONLY' };
      const { config } = (await this.call('getForwardingPipelineConfig', request)) as { config?: PipelineConfig };
      return config?.cookie?.cookie ?? null;
    } catch (error) {
      if (error instanceof P4RuntimeError && [NOT_FOUND, FAILED_PRECONDITION].includes(error.code)) return null;
      throw error;
    }
  }

  /** The tables are empty afterwards. */
  async setPipeline(config: PipelineConfig): Promise<void> {
    await this.becomePrimary();
    const request = { ...this.own, action: 'VERIFY_AND_COMMIT', config };
    await this.call('setForwardingPipelineConfig', request, 4 * CALL_TIMEOUT_MS);
  }

  /** In order. The first batch that fails ends it. */
  async write(updates: readonly Update[]): Promise<void> {
    await this.becomePrimary();
    for (let at = 0; at < updates.length; at += UPDATES_A_CALL)
      await this.call('write', { ...this.own, updates: updates.slice(at, at + UPDATES_A_CALL) }).catch((error) => {
        // Another controller has taken over, of which the stream has not told yet.
        if (error instanceof P4RuntimeError && error.code === PERMISSION_DENIED) this.endStream();
        throw error;
      });
  }

  /** That the digests of a list were taken: the device may tell them again. */
  acknowledge({ digestId, listId }: Pick<DigestList, 'digestId' | 'listId'>): void {
    this.stream?.write({ digestAck: { digestId, listId } });
  }

  async read(entities: readonly Entity[]): Promise<Entity[]> {
    const client = await this.connected();
    const found: Entity[] = [];
    const call = method(client, 'read')({ deviceId: this.deviceId, entities });
    return this.inTime(CALL_TIMEOUT_MS, call, (resolve, reject) => {
      call.on('data', ({ entities: some = [] }: { entities?: Entity[] }) => found.push(...some));
      call.on('error', reject);
      call.on('end', () => resolve(found));
    });
  }

  close(): void {
    this.stream?.cancel();
    this.client?.close();
    this.client = this.stream = this.arbitration = null;
  }

  private get own() {
    return { deviceId: this.deviceId, electionId: this.electionId };
  }

  private async connected(): Promise<Grpc.Client> {
    if (this.client) return this.client;
    const { grpc, service, root } = await protocol();
    this.root = root;
    this.client ??= new service(this.address, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': MOST_BYTES,
      'grpc.max_metadata_size': 1 << 20,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 1000,
    });
    return this.client;
  }

  /** Keeps a stream open as long as the device does: the right to write ends with it. */
  private becomePrimary(): Promise<void> {
    this.arbitration ??= this.arbitrate().catch((error) => {
      this.endStream();
      throw error;
    });
    return this.arbitration;
  }

  private async arbitrate(): Promise<void> {
    const client = await this.connected();
    const stream = method(client, 'streamChannel')() as Grpc.ClientDuplexStream<object, object>;
    this.stream = stream;
    const ended = () => {
      if (this.stream === stream) this.endStream();
    };
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        stream.cancel();
        reject(this.failure({ message: 'no answer to the arbitration', code: DEADLINE_EXCEEDED }));
      }, CALL_TIMEOUT_MS);
      stream.on('data', ({ arbitration, ...notice }: { arbitration?: Arbitration } & Notice) => {
        if (notice.digest || notice.idleTimeoutNotification) this.listener(notice);
        if (!arbitration) return;
        clearTimeout(late);
        const { code = 0, message = '' } = arbitration.status ?? {};
        if (code === 0) return resolve();
        if (code === NOT_FOUND && this.outbid(arbitration.electionId)) {
          stream.write({ arbitration: { deviceId: this.deviceId, electionId: this.electionId } });
          return;
        }
        reject(this.failure({ message: `another controller has it ${message}`.trim(), code }));
        stream.cancel();
      });
      stream.on('error', (error: Grpc.ServiceError) => {
        clearTimeout(late);
        ended();
        reject(this.failure(error));
      });
      stream.on('end', ended);
      stream.write({ arbitration: { deviceId: this.deviceId, electionId: this.electionId } });
    });
  }

  /** The device has no primary, but remembers a higher id of one that left. False: not so. */
  private outbid({ high = '0', low = '0' }: Partial<ElectionId> = {}): boolean {
    const number = (id: ElectionId) => (BigInt(id.high) << 64n) | BigInt(id.low);
    const highest = number({ high, low });
    if (highest < number(this.electionId) || highest === MOST_ELECTION_ID) return false;
    const next = highest + 1n;
    this.electionId = { high: String(next >> 64n), low: String(next & MOST_64_BITS) };
    return true;
  }

  private endStream(): void {
    this.stream?.cancel();
    this.stream = this.arbitration = null;
  }

  private async call(name: string, request: object, deadlineMs = CALL_TIMEOUT_MS): Promise<object> {
    const client = await this.connected();
    let settle: (error: Grpc.ServiceError | null, reply: object) => void = () => undefined;
    const call = method(client, name)(request, (error: Grpc.ServiceError | null, reply: object) =>
      settle(error, reply),
    );
    return this.inTime(deadlineMs, call, (resolve, reject) => {
      settle = (error, reply) => (error ? reject(error) : resolve(reply));
    });
  }

  /** Cancels a call that is not settled in time. gRPC's own deadlines are points of the wall clock, which may jump. */
  private inTime<T>(
    limitMs: number,
    call: Pick<Grpc.ClientReadableStream<object>, 'cancel'>,
    run: (resolve: (value: T) => void, reject: (error: Grpc.ServiceError) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(this.failure({ message: '', code: DEADLINE_EXCEEDED }));
        call.cancel();
      }, limitMs);
      const settled =
        <V>(then: (value: V) => void) =>
        (value: V) => {
          clearTimeout(late);
          then(value);
        };
      run(
        settled(resolve),
        settled((error) => {
          const { code } = error;
          const said = updateError(error, this.root) ?? error.message;
          // As the arbitration puts it: the notice may come after the call.
          reject(
            this.failure({ code, message: code === PERMISSION_DENIED ? `another controller has it: ${said}` : said }),
          );
        }),
      );
    });
  }

  private failure({ message, code }: { message: string; code: number }): P4RuntimeError {
    return new P4RuntimeError(failureWords(this.address, { code, message }), code);
  }
}

const MOST_64_BITS = (1n << 64n) - 1n;
const MOST_ELECTION_ID = (1n << 128n) - 1n;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const UNAVAILABLE = 14;
const PERMISSION_DENIED = 7;
const FAILED_PRECONDITION = 9;

// The methods of a client that is made from a descriptor have no types.
type Method = (...args: readonly unknown[]) => Grpc.ClientReadableStream<object>;
function method(client: Grpc.Client, name: string): Method {
  const methods = client as unknown as Record<string, Method>;
  return methods[name]!.bind(client);
}

/** The first update of a `Write` that was refused (P4Runtime 1.4, 12.3); null: the error says none. */
function updateError({ metadata }: Grpc.ServiceError, root: Root | null): string | null {
  const [bytes] = metadata?.get('grpc-status-details-bin') ?? [];
  if (!root || !(bytes instanceof Buffer)) return null;
  try {
    const status = root.lookupType('google.rpc.Status').decode(bytes) as unknown as { details: { value: Buffer }[] };
    const errors = status.details.map(
      ({ value }) => root.lookupType('p4.v1.Error').decode(value) as unknown as UpdateError,
    );
    const failed = errors.findIndex(({ canonicalCode }) => canonicalCode !== 0);
    const { canonicalCode, message } = errors[failed]!;
    return `update ${failed} of ${errors.length}: ${message || `code ${canonicalCode}`}`;
  } catch {
    return null;
  }
}

interface UpdateError {
  readonly canonicalCode: number;
  readonly message: string;
}
