import { type LinkSample, type Sample, type SloStatus, type StreamServerMessage, samplePrefix } from '@orrery/contract';

type SamplesMessage = Extract<StreamServerMessage, { type: 'samples' }>;

/** The newest unsent value per key of one client; older ones are counted and dropped. */
export class SampleMailbox {
  private prefixes: readonly string[] = [];
  private readonly samples = new Map<string, Sample>();
  private readonly links = new Map<string, LinkSample>();
  private readonly slos = new Map<string, SloStatus>();
  private coalesced = 0;

  subscribe(prefixes: readonly string[]): void {
    this.prefixes = prefixes;
    for (const key of this.samples.keys()) if (!this.wants(key)) this.samples.delete(key);
    for (const id of this.links.keys()) if (!this.wants(samplePrefix('link', id))) this.links.delete(id);
  }

  put(samples: readonly Sample[], links: readonly LinkSample[]): void {
    if (this.prefixes.length === 0) return;
    for (const sample of samples) if (this.wants(sample.key)) this.replace(this.samples, sample.key, sample);
    for (const link of links)
      if (this.wants(samplePrefix('link', link.link_id))) this.replace(this.links, link.link_id, link);
  }

  putSlos(statuses: readonly SloStatus[]): void {
    for (const status of statuses) this.replace(this.slos, `${status.chain_id} ${status.slo_id}`, status);
  }

  /** Null if there is nothing new. */
  take(): SamplesMessage | null {
    if (this.samples.size + this.links.size + this.slos.size === 0) return null;
    const message: SamplesMessage = {
      type: 'samples',
      samples: [...this.samples.values()],
      links: [...this.links.values()],
      slos: [...this.slos.values()],
      coalesced: this.coalesced,
    };
    this.samples.clear();
    this.links.clear();
    this.slos.clear();
    this.coalesced = 0;
    return message;
  }

  private wants(key: string): boolean {
    return this.prefixes.some((prefix) => key.startsWith(prefix));
  }

  private replace<T>(map: Map<string, T>, key: string, value: T): void {
    if (map.has(key)) this.coalesced++;
    map.set(key, value);
  }
}
