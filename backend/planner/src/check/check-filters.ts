import type { ChainDefinition, ChainProblem, FilterTerm } from '@orrery/contract';
import { carries, type DescriptorIndex, derivedValues } from './attributes.js';
import type { ChainGraph } from './graph.js';
import { allPackets, type DerivedDomains, isDirect } from './packet-space.js';
import { overlap } from './reach.js';
import { faultOf, filterBox } from './resolve-filter.js';

/** Terms with an unknown attribute or value, and filters that contradict themselves. */
export function checkFilters(
  definition: ChainDefinition,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
  derived: DerivedDomains,
): ChainProblem[] {
  const problems: ChainProblem[] = [];
  const valuesOf = (attribute: string) => derivedValues(attribute, graph, descriptors);
  const anything = allPackets(derived).map((box) => new Map([...box].filter(([dimension]) => isDirect(dimension))));

  const report = (term: FilterTerm, pointer: string, at: { edge?: string; node?: string }) => {
    const fault = faultOf(term, valuesOf);
    if (!fault) return false;
    const owner = graph.nodes.get(term.attribute.split('.')[0]!);
    if (fault.code === 'unknown-attribute' && owner?.kind === 'nf' && !descriptors.has(owner.nf)) return true;
    const { code, message } = fault;
    problems.push({ code, severity: 'error', message, pointer: `${pointer}/${fault.field}`, ...at });
    return true;
  };

  definition.traffic_class.match.forEach((term, i) => {
    const pointer = `/traffic_class/match/${i}`;
    if (isDirect(term.attribute)) report(term, pointer, {});
    else
      problems.push({
        code: 'bad-filter',
        severity: 'error',
        message: `a traffic class matches what the switch sees; "${term.attribute}" is not in the packet`,
        pointer: `${pointer}/attribute`,
      });
  });
  const classBox = filterBox(definition.traffic_class.match, valuesOf, derived);
  if (!classBox || overlap(anything, classBox).length === 0) {
    const message = 'no packet can match every term of the traffic class';
    problems.push({ code: 'bad-filter', severity: 'error', message, pointer: '/traffic_class/match' });
  }

  definition.edges.forEach((edge, i) => {
    const at = { edge: edge.id };
    let sound = true;
    edge.filter.forEach((term, k) => {
      const pointer = `/edges/${i}/filter/${k}`;
      if (report(term, pointer, at)) {
        sound = false;
        return;
      }
      const source = term.attribute.split('.')[0]!;
      if (isDirect(term.attribute) || !graph.nodes.has(edge.from) || carries(graph, source, edge.from)) return;
      problems.push({
        code: 'attribute-not-upstream',
        severity: 'error',
        message: `packets that leave "${edge.from}" have not passed "${source}", which derives "${term.attribute}"`,
        pointer: `${pointer}/attribute`,
        ...at,
      });
    });
    const box = filterBox(edge.filter, valuesOf, derived);
    if (sound && (!box || overlap(anything, box).length === 0)) {
      const message = 'no packet can match every term of this filter';
      problems.push({ code: 'bad-filter', severity: 'error', message, pointer: `/edges/${i}/filter`, ...at });
    }
  });
  return problems;
}
