const LINE_CHARS = 64 * 1024;
/** Most layers that are kept count of. */
const MOST_LAYERS = 500;
const MIB = 2 ** 20;

interface Line {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
}

/** How far a pull is, by the lines that Docker sends. */
export class PullProgress {
  private rest = '';
  private status = 'begun';
  private readonly layers = new Map<string, { bytes: number; total: number; done: boolean }>();

  /** In a few words. */
  get text(): string {
    const layers = [...this.layers.values()];
    const total = layers.reduce((sum, layer) => sum + layer.total, 0);
    if (total === 0) return this.status;
    const bytes = layers.reduce((sum, layer) => sum + (layer.done ? layer.total : layer.bytes), 0);
    const done = layers.filter((layer) => layer.done).length;
    return `${done} of ${layers.length} layers, ${Math.floor(bytes / MIB)} of ${Math.ceil(total / MIB)} MiB`;
  }

  /** Docker's error, if the text has one. */
  take(text: string): string | null {
    const complete = (this.rest + text).split('\n');
    this.rest = complete.pop()!;
    if (this.rest.length > LINE_CHARS) return 'Docker told of the pull in a line without end';
    for (const line of complete.filter((it) => it.trim() !== '')) {
      let told: Line;
      try {
        told = JSON.parse(line) as Line;
      } catch {
        return 'Docker told of the pull in other words than JSON';
      }
      if (told.error !== undefined) return `Docker: ${told.error}`;
      this.note(told);
    }
    return null;
  }

  private note({ id, status = '', progressDetail }: Line): void {
    if (
      id === undefined ||
      !/^(Pulling fs layer|Waiting|Downloading|Verifying|Download complete|Extracting|Pull complete|Already exists)/.test(
        status,
      )
    ) {
      this.status = status.slice(0, 100) || this.status;
      return;
    }
    const known = this.layers.get(id) ?? { bytes: 0, total: 0, done: false };
    if (this.layers.size >= MOST_LAYERS && !this.layers.has(id)) return;
    if (status === 'Downloading') {
      known.bytes = progressDetail?.current ?? known.bytes;
      known.total = progressDetail?.total ?? known.total;
    }
    if (status === 'Download complete' || status === 'Extracting') known.bytes = known.total;
    known.done ||= status === 'Pull complete' || status === 'Already exists';
    this.layers.set(id, known);
  }
}
