type Fact = readonly [string, string];

/** What the agent tells of a container in the state of its NF: its image and health, and who measured it; none of others. */
export function containerFacts(state: unknown): Fact[] {
  const told = memberOf(state, 'container');
  const text = (name: string): string | null => {
    const value = memberOf(told, name);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
  const health = memberOf(memberOf(told, 'health'), 'status');
  const facts: [string, string | null][] = [
    ['Image', text('image')],
    ['Health check', typeof health === 'string' ? health : null],
    ['Ended by itself', text('ends')],
    ['CPU and memory by', text('measured_by')],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function memberOf(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}
