// Programs the twin's switches as planner and agent do, inside the twin's namespaces, and prints what they hold and count.
// Standard input: {infrastructure, rules, switches: file of the switches' agent}.
import { readFileSync } from 'node:fs';
import { readSwitches } from '../../../agents/node/dist/switch/switch-config.js';
import { switchSamples } from '../../../agents/node/dist/switch/switch-samples.js';
import { FabricSpec, Infrastructure } from '../../../backend/contract/dist/index.js';
import { lowerFabric } from '../../../backend/planner/dist/index.js';

const { infrastructure, rules, switches } = JSON.parse(readFileSync(0, 'utf8'));
const configured = readSwitches(switches);
const abilities = new Map(configured.map(({ node, kind }) => [node, kind.abilities]));
const { rules: checked } = FabricSpec.parse({ generation: 1, rules });
const lowered = lowerFabric(Infrastructure.parse(infrastructure), abilities, checked);
const counts = {};
for (const { node, driver } of lowered.faults.length > 0 ? [] : configured) {
  const spec = { generation: 1, ...lowered.switches.get(node) };
  await driver.apply(spec, await driver.ports(spec.ports.map(({ name }) => name)));
  for (const { rule_id, packets } of switchSamples(spec, await driver.read()).rules)
    counts[rule_id] = (counts[rule_id] ?? 0) + packets;
}
const planned = Object.fromEntries(lowered.tables.map(({ id, entries }) => [id, entries]));
process.stdout.write(JSON.stringify({ faults: lowered.faults, planned, counts }));
