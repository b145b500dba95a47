import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DriverError } from '../nf-driver.js';

/** What Docker is given to sign in at a registry; only ever sent to Docker. */
export interface RegistryLogin {
  username?: string;
  password?: string;
  identitytoken?: string;
  serveraddress: string;
}

const Entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});
const ClientConfig = z.object({
  auths: z.record(z.string(), Entry).default({}),
  credHelpers: z.record(z.string(), z.string()).default({}),
  credsStore: z.string().default(''),
});
const Told = z.object({ Username: z.string(), Secret: z.string() });

/** Docker's name of the registry of references that name none. */
const DOCKER_HUB = 'docker.io';
const DOCKER_HUB_KEY = 'https://index.docker.io/v1/';
const HELPER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const HELPER_LIMIT_MS = 10_000;
const HELPER_LIMIT_BYTES = 64 * 1024;
/** What helpers say of a registry that they do not know. */
const UNKNOWN = /credentials not found|no credentials server URL/;
/** As a name of users that means a token. */
const TOKEN_USER = '<token>';

/** Registry of a reference, as Docker reads it: the first part, if it can be a host. */
export function registryOf(reference: string): string {
  const [first, ...rest] = reference.split('/');
  return rest.length > 0 && /[.:]|^localhost$/.test(first!) ? first! : DOCKER_HUB;
}

/**
 * Passwords of registries, from the configuration of a Docker client (`docker login`). It is read anew for each pull, and nothing
 * of it is kept.
 */
export class RegistryLogins {
  /** `file`: `config.json`; null: registries are asked without a password. `env`: of credential helpers. */
  constructor(
    private readonly file: string | null,
    private readonly env: NodeJS.ProcessEnv = process.env,
  ) {}

  /** Null: there is none for this registry. Throws a DriverError without a secret in it. */
  async loginFor(registry: string): Promise<RegistryLogin | null> {
    if (this.file === null) return null;
    const { auths, credHelpers, credsStore } = await this.read(this.file);
    const key = registry === DOCKER_HUB ? DOCKER_HUB_KEY : registry;
    const helper = credHelpers[key] ?? credHelpers[registry] ?? credsStore;
    const found = helper === '' ? null : await this.ask(helper, key);
    if (found) return found;
    const [, entry] = Object.entries(auths).find(([name]) => name === key || hostOf(name) === registry) ?? [];
    return entry ? this.loginOf(entry, key) : null;
  }

  /** What to do about a registry that refused, in words. */
  advice(registry: string, login: RegistryLogin | null): string {
    if (this.file === null)
      return `if it is private, run "docker login ${registry}" on the server and start its agent with --docker-config`;
    if (login === null) return `${this.file} has no password of ${registry}: run "docker login ${registry}" there`;
    return `the password of ${registry} in ${this.file} is not accepted, or does not allow this image`;
  }

  private async read(file: string): Promise<z.infer<typeof ClientConfig>> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new DriverError(`--docker-config ${file} cannot be read: ${error.code}`);
    });
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch {
      // The parser's own message quotes the file.
      throw new DriverError(`--docker-config ${file} is not JSON`);
    }
    const parsed = ClientConfig.safeParse(content);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new DriverError(`--docker-config ${file}: /${issue!.path.join('/')}: ${issue!.message}`);
  }

  private loginOf({ auth, identitytoken, ...plain }: z.infer<typeof Entry>, key: string): RegistryLogin | null {
    if (identitytoken) return { identitytoken, serveraddress: key };
    if (!auth) return plain.username ? { ...plain, serveraddress: key } : null;
    const [, username, password] = /^([^:]+):([\s\S]*)$/.exec(Buffer.from(auth, 'base64').toString('utf8')) ?? [];
    if (username === undefined)
      throw new DriverError(`--docker-config ${this.file}: /auths/${key}/auth: must be USER:PASSWORD in base64`);
    // Docker's client pads it with NUL.
    return { username, password: password!.replace(/\0+$/, ''), serveraddress: key };
  }

  /** Null: the helper does not know the registry. What a helper wrote otherwise is told to nobody. */
  private ask(helper: string, key: string): Promise<RegistryLogin | null> {
    const program = `docker-credential-${helper}`;
    if (!HELPER_NAME.test(helper))
      throw new DriverError(
        `--docker-config ${this.file}: ${JSON.stringify(helper)} is no name of a credential helper`,
      );
    return new Promise((resolve, reject) => {
      const fails = (why: string) => reject(new DriverError(`--docker-config ${this.file}: ${program} ${why}`));
      const options = { timeout: HELPER_LIMIT_MS, maxBuffer: HELPER_LIMIT_BYTES, env: this.env };
      const child = execFile(program, ['get'], options, (error, stdout) => {
        if (error?.code === ('ENOENT' as never)) return fails('is not installed');
        if (error && UNKNOWN.test(stdout)) return resolve(null);
        if (error?.killed) return fails(`gave no answer in ${HELPER_LIMIT_MS / 1000} s`);
        if (error) return fails(`failed (${error.code})`);
        const told = Told.safeParse(jsonOf(stdout));
        if (!told.success) return fails('gave no user and password');
        const { Username: username, Secret: secret } = told.data;
        resolve(
          username === TOKEN_USER
            ? { identitytoken: secret, serveraddress: key }
            : { username, password: secret, serveraddress: key },
        );
      });
      // One that does not read is told of by its end.
      child.stdin?.on('error', () => undefined).end(key);
    });
  }
}

/** Keys were whole addresses once: `https://registry.example/v1/`. */
const hostOf = (key: string): string => key.replace(/^https?:\/\//, '').split('/')[0]!;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
