import { describe, expect, it } from 'vitest';
import { chain } from '../../editor-model/testing.js';
import { causeText, classObjectiveText } from './class-objective-text.js';

const plain = chain('ingress>ids', 'ids>web', 'ids>dns', 'web>egress', 'dns>egress');
const definition = {
  ...plain,
  nodes: plain.nodes.map((node) => (node.id === 'web' ? { ...node, title: 'Web cache' } : node)),
};

describe('an objective between classes', () => {
  it('names the classes as the user did, not by edges', () => {
    expect(classObjectiveText(definition, { id: 'x', kind: 'cpu-time', a: 'e2', b: 'e3', ratio: 2 })).toBe(
      'CPU time of ids → Web cache over ids → dns',
    );
    expect(classObjectiveText(definition, { id: 'x', kind: 'priority', above: 'e3', below: 'e2' })).toBe(
      'ids → dns before ids → Web cache',
    );
    expect(classObjectiveText(definition, { id: 'x', kind: 'throughput', a: 'e2', b: 'gone', ratio: 1 })).toBe(
      'Packets of ids → Web cache over gone',
    );
  });

  it('tells its cause with these names, and where there is nothing to share', () => {
    expect(causeText('packets of the class of e2 wait while the class of e3 is served', definition)).toBe(
      'packets of the class ids → Web cache wait while the class ids → dns is served',
    );
    expect(causeText('the class of e3 gets all that it offers', definition)).toBe(
      'no contention: the class ids → dns gets all that it offers',
    );
    expect(causeText('the class of e3 gets too little: queue q is full', undefined)).toBe(
      'the class of e3 gets too little: queue q is full',
    );
  });
});
