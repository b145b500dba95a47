import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A sysfs folder and a firmware directory, with a fake kernel behind them: a name written to `firmware` is loaded
 * before the write returns, with an errno if it fails; `state` and `status` give details.
 */
export class FakeFpgaManager {
  readonly manager: string;
  readonly firmware: string;
  readonly loads: { name: string; flags: string }[] = [];

  constructor(
    directory: string,
    private readonly onLoad: (path: string) => Promise<boolean>,
  ) {
    this.manager = join(directory, 'fpga0');
    this.firmware = join(directory, 'firmware');
    mkdirSync(this.manager);
    mkdirSync(this.firmware);
    // As after an earlier load: `state` alone is no verdict.
    this.set('state', 'operating\n');
    this.set('status', '');
    this.set('flags', '0\n');
  }

  readonly write = async (path: string, text: string): Promise<void> => {
    writeFileSync(path, text);
    if (path !== join(this.manager, 'firmware')) return;
    this.loads.push({ name: text, flags: readFileSync(join(this.manager, 'flags'), 'utf8') });
    const image = join(this.firmware, text);
    if (!existsSync(image)) return this.fail('firmware request error', '', 'ENOENT');
    this.set('state', 'write\n');
    if (!(await this.onLoad(image))) return this.fail('write error', 'reconfig CRC error', 'EIO');
    this.set('state', 'operating\n');
    this.set('status', '');
  };

  private fail(state: string, status: string, code: string): never {
    this.set('state', `${state}\n`);
    this.set('status', status && `${status}\n`);
    throw Object.assign(new Error(`${code}: write`), { code });
  }

  private set(name: string, text: string): void {
    writeFileSync(join(this.manager, name), text);
  }
}
