import { describe, expect, it } from 'vitest';
import { P4Lab, p4Missing } from '../../testing/p4-lab.js';
import { exchange, SWITCH_LABS } from '../../testing/switch-lab.js';
import { ENDS, PORTS, specOf } from '../../testing/switch-programs.js';
import { switchP4 } from '../switch-p4/switch-p4.js';

const missing = p4Missing();

describe.skipIf(missing)(`traces of packets${missing ? ` (${missing})` : ''}`, () => {
  it('tell which states, tables and actions a packet of a port took, and where it went', async () => {
    const lab = await SWITCH_LABS.find(({ kind }) => kind === 'p4')!.setUp(PORTS);
    const tracer = lab.driver.tracer!;
    const spec = specOf({ steered: [], guards: [], hops: [], mirrored: [] }, switchP4.abilities, 1);
    await lab.driver.apply(spec, await lab.driver.ports(PORTS));
    expect(await tracer.read(0)).toEqual({ traces: [], armed: 0, lost: 0 });
    await tracer.arm({ count: 1, port: 'p2' });
    const toHost = Buffer.from(
      `020efffffffe0600000000070800${'4500002e000000004011' + '66bb' + '0a0000010a000002'}${'00350035001a0000'}${'00'.repeat(18)}`,
      'hex',
    );
    await exchange(
      lab,
      PORTS,
      [
        { port: 'p1', frame: toHost },
        { port: 'p2', frame: toHost },
      ],
      ENDS,
    );
    const { traces, armed } = await tracer.read(0);
    expect(armed).toBe(0);
    const [trace, ...others] = traces;
    expect(others).toEqual([]);
    expect(trace).toMatchObject({ port: 'p2', bytes: 60, left_out: 0 });
    const of = (kind: string) => trace!.steps.filter(({ step }) => step === kind);
    expect(of('table_lookup').map((one) => 'table' in one && [one.table, one.hit])).toEqual([
      ['Steer.admit', true],
      ['Steer.steer', true],
      ['Steer.route', true],
    ]);
    expect(of('sent')).toEqual([{ step: 'sent', port: 'p3', bytes: 60 }]);
    expect(await tracer.read(trace!.sequence)).toMatchObject({ traces: [] });
  });

  it('are refused of a port that is not there, and of a switch that is gone', async () => {
    const lab = new P4Lab();
    await lab.setUp(['p1']);
    const { tracer } = lab.make();
    await expect(tracer!.arm({ count: 1, port: 'p9' })).rejects.toThrow('/port: the switch has no port p9');
    await lab.kill();
    await expect(tracer!.read(0)).rejects.toThrow(/the switch cannot be reached/);
  });
});
