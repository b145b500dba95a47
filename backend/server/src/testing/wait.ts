/** Between two looks: as long as a look takes, three times over, so that to wait leaves the cores to what is waited for. */
const PAUSE = { leastMs: 10, mostMs: 100, looks: 3 };

/** The first value of `probe` that is not null, undefined or false. Throws after `ms`, naming `what`. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  ms = 60_000,
): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const beganMs = performance.now();
    const value = await probe();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > deadline) throw new Error(`did not happen within ${ms} ms: ${what}`);
    const pauseMs = PAUSE.looks * (performance.now() - beganMs);
    await new Promise((resolve) => setTimeout(resolve, Math.min(PAUSE.mostMs, Math.max(PAUSE.leastMs, pauseMs))));
  }
}
