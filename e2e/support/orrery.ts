import { type APIRequestContext, test as base, expect, type Page } from '@playwright/test';

/** Counters of one NF instance; bytes are those of Ethernet frames without their checksums. */
export interface Taken {
  packets: number;
  bytes: number;
}

/** Client of the public API with the admin's token. */
export class Api {
  constructor(
    private readonly request: APIRequestContext,
    private readonly token: string,
  ) {}

  async call(method: string, path: string, data?: unknown, headers: Record<string, string> = {}) {
    const answer = await this.request.fetch(`${process.env.E2E_URL}/api/v1${path}`, {
      method,
      data: data as never,
      headers: { authorization: `Bearer ${this.token}`, ...headers },
    });
    const text = await answer.text();
    return { status: answer.status(), headers: answer.headers(), body: text ? JSON.parse(text) : null };
  }

  /** Returns the body of a 2xx answer; any other fails the test. */
  async ok(method: string, path: string, data?: unknown, headers: Record<string, string> = {}) {
    const { status, body } = await this.call(method, path, data, headers);
    expect(status, `${method} ${path}: ${JSON.stringify(body)}`).toBeLessThan(300);
    return body;
  }

  /** Polls until `read` returns a value that is not null. */
  async until<T>(what: string, read: () => Promise<T | null>, timeoutMs = 30_000): Promise<T> {
    let value: T | null = null;
    await expect
      .poll(
        async () => {
          value = await read();
          return value !== null;
        },
        { message: what, timeout: timeoutMs, intervals: [100] },
      )
      .toBe(true);
    return value as T;
  }

  /** Packets that each NF instance has received since it started. */
  async taken(): Promise<Record<string, Taken>> {
    const { items } = await this.ok('GET', '/samples/counters');
    return Object.fromEntries(
      items.map((sample: { instance_id: string; packets_in: number; bytes_in: number }) => [
        sample.instance_id,
        { packets: sample.packets_in, bytes: sample.bytes_in },
      ]),
    );
  }
}

export const test = base.extend<{ api: Api; signedIn: Page }>({
  api: async ({ request }, use) => {
    const answer = await request.post(`${process.env.E2E_URL}/api/v1/sessions`, {
      data: { secret: process.env.E2E_SECRET },
    });
    await use(new Api(request, (await answer.json()).token));
  },
  /** The console, signed in. */
  signedIn: async ({ page }, use) => {
    await page.goto(process.env.E2E_URL as string);
    await page.getByLabel(/secret/i).fill(process.env.E2E_SECRET as string);
    await page.getByRole('button', { name: /sign in/i }).click();
    await expect(page.getByRole('navigation').first()).toBeVisible();
    await use(page);
  },
});
export { expect };
