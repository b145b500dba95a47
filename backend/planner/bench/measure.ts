/** What a benchmark says; `baseline` was measured in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  readonly bar?: number;
  readonly baseline?: number;
}

/** Tiny parameters, to see that everything runs; the figures mean nothing then. */
const SMOKE = process.argv.includes('--smoke');

export function sized<T>(whole: T, smoke: T): T {
  return SMOKE ? smoke : whole;
}

/** CPU time in ms of one call, the mean over calls of at least `least_ms` in all, after as many to warm up. */
export function cpuMs(run: () => void, least_ms = 300): number {
  if (SMOKE) return spend(run, 0);
  spend(run, least_ms);
  return spend(run, least_ms);
}

function spend(run: () => void, least_ms: number): number {
  const before = process.cpuUsage();
  let calls = 0;
  let spent = 0;
  do {
    run();
    calls++;
    const { user, system } = process.cpuUsage(before);
    spent = (user + system) / 1000;
  } while (spent < least_ms);
  return spent / calls;
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

/** Exponent b of the power law value = a * n^b through the points, by least squares of logarithms. */
export function fittedExponent(points: readonly (readonly [n: number, value: number])[]): number {
  const logs = points.map(([n, value]) => [Math.log(n), Math.log(value)] as const);
  const [x, y] = [mean(logs.map(([a]) => a)), mean(logs.map(([, b]) => b))];
  const over = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return over / logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
}

export function seeds(count: number): number[] {
  return Array.from({ length: sized(count, 1) }, (_, i) => i + 1);
}
