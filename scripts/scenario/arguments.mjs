import { parseArgs } from 'node:util';
import { UsageError } from '../command-line.mjs';

/** Parses the command line. Throws UsageError. */
export function readArguments(args) {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        set: { type: 'string', multiple: true, default: [] },
        url: { type: 'string' },
        json: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error.message);
  }
  const { values, positionals } = parsed;
  const [name, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`One scenario at a time: ${positionals.join(' ')}`);
  if (!name && !values.list && !values.help) throw new UsageError('Which scenario?');
  return { ...values, name };
}

/** Values of `--set key=value`, converted to the types in the schema of the parameters. Throws UsageError. */
export function readParameters(settings, schema) {
  const known = schema.properties ?? {};
  return Object.fromEntries(
    settings.map((setting) => {
      const at = setting.indexOf('=');
      if (at < 1) throw new UsageError(`--set ${setting}: write key=value`);
      const [key, text] = [setting.slice(0, at), setting.slice(at + 1)];
      if (!Object.hasOwn(known, key))
        throw new UsageError(
          `--set ${setting}: no parameter ${key}; known parameters: ${Object.keys(known).join(', ')}`,
        );
      return [key, typed(setting, text, known[key])];
    }),
  );
}

function typed(setting, text, { type }) {
  if (type === 'number' || type === 'integer') {
    const number = Number(text);
    if (text.trim() === '' || !Number.isFinite(number)) throw new UsageError(`--set ${setting}: must be a number`);
    return number;
  }
  if (type === 'boolean') {
    if (text !== 'true' && text !== 'false') throw new UsageError(`--set ${setting}: must be true or false`);
    return text === 'true';
  }
  return text;
}
