import type { LinkSample, Sample, SloStatus, StreamServerMessage } from '@orrery/contract';

type SamplesMessage = Extract<StreamServerMessage, { type: 'samples' }>;

/** The newest value a key that one client has not got yet; older ones are counted and forgotten. */
export class SampleMailbox {
  private prefixes: readonly string[] = [];
  private readonly samples = new Map<string, Sample>();
  private readonly links = new Map<string, LinkSample>();
  private readonly slos = new Map<string, SloStatus>();
  private coalesced = 0;

  subscribe(prefixes: readonly string[]): void {
    this.prefixes = prefixes;
    for (const key of this.samples.keys()) if (!this.wants(key)) this.samples.delete(key);
    for (const id of this.links.keys()) if (!this.wants(`link/${id}/`)) this.links.delete(id);
  }

  put(samples: readonly Sample[], links: readonly LinkSample[]): void {
    if (this.prefixes.length === 0) return;
    for (const sample of samples) if (this.wants(sample.key)) this.replace(this.samples, sample.key, sample);
    for (const link of links) if (this.wants(`link/${link.link_id}/`)) this.replace(this.links, link.link_id, link);
  }

  putSlos(statuses: readonly SloStatus[]): void {
    for (const status of statuses) this.replace(this.slos, `${status.pipeline_id} ${status.slo_id}`, status);
  }

  /** null: nothing new. */
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
