/** Where packets come to a board from: `at switch leaf-1` or `beside the engine of server-1`. */
export function attachmentText({
  server,
  switches,
}: {
  readonly server: string;
  readonly switches: readonly string[];
}): string {
  if (switches.length === 0) return `beside the engine of ${server}`;
  return `at ${switches.length === 1 ? 'switch' : 'switches'} ${switches.join(' and ')}`;
}
