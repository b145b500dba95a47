import { BulkRequests, type ServicePool, type ServiceRequestSpec } from '@orrery/contract';

export type Parsed =
  | { readonly ok: true; readonly requests: ServiceRequestSpec[] }
  | { readonly ok: false; readonly problem: string };

const HEAD = ['pool', 'from', 'match', 'functions', 'latency_us', 'throughput_bps'] as const;

/** What the text area begins with: requests that the pool may take. */
export function exampleOf({ id, definition: { hosts, nfs } }: Pick<ServicePool, 'id' | 'definition'>): string {
  const [host = ''] = hosts;
  const functions = nfs.map(({ nf }) => nf);
  return `${HEAD.join(',')}
${id},${host},port.dst=80,${functions.join(' ')},500,1000000
${id},${host},ip.dst=10.0.2.1 port.dst=443,${functions.at(-1) ?? ''},300,2000000`;
}

/** Requests as JSON (a list, or an object with `requests`) or as CSV with a head line; lists are separated by spaces. */
export function parseRequests(text: string): Parsed {
  const isJson = /^\s*[[{]/.test(text);
  const read = isJson ? fromJson(text) : fromCsv(text);
  if (typeof read === 'string') return { ok: false, problem: read };
  const parsed = BulkRequests.safeParse({ requests: read });
  if (parsed.success) return { ok: true, requests: parsed.data.requests };
  const [issue] = parsed.error.issues;
  const [, place, ...field] = issue!.path;
  const where =
    typeof place === 'number' ? `Request ${place + 1}${field.length > 0 ? `, ${field.join('.')}` : ''}: ` : '';
  return { ok: false, problem: `${where}${issue!.message}` };
}

function fromJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : ((value as { requests?: unknown } | null)?.requests ?? []);
  } catch (error) {
    return `This is no JSON: ${(error as Error).message}`;
  }
}

function fromCsv(text: string): unknown[] | string {
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const names = head.split(',').map((name) => name.trim());
  const missing = HEAD.find((name) => !names.includes(name));
  if (missing) return `The first line must name the columns ${HEAD.join(', ')}; ${missing} is missing.`;
  const cellOf = (cells: readonly string[], name: (typeof HEAD)[number]) => (cells[names.indexOf(name)] ?? '').trim();
  const words = (cell: string) => cell.split(/\s+/).filter(Boolean);
  return lines.map((line) => {
    const cells = line.split(',');
    return {
      pool: cellOf(cells, 'pool'),
      from: words(cellOf(cells, 'from')),
      match: words(cellOf(cells, 'match')).map((term) => {
        const [attribute = '', value = ''] = term.split('=');
        return { attribute, op: 'is', value };
      }),
      functions: words(cellOf(cells, 'functions')),
      latency_us: Number(cellOf(cells, 'latency_us')),
      throughput_bps: Number(cellOf(cells, 'throughput_bps')),
    };
  });
}
