import { OneNfChain } from '../support/one-nf-chain.js';
import { expect, test } from '../support/orrery.js';

test('an NF moves into a container with its flows, carries real packets there, and comes back', async ({ api }) => {
  const chain = await OneNfChain.deploy(api, 'containers-walk', 'stateful-firewall');
  const flowsOf = async (id: string) => {
    const { state } = await api.ok('GET', `/nf-instances/${encodeURIComponent(id)}/state`);
    return JSON.stringify(state);
  };

  await test.step('into a container: flows first, then traffic', async () => {
    await chain.request(5);
    const plan = await chain.runOn('container');
    expect(plan.migrations).toMatchObject([{ from: 'containers-walk.fw.0', to: 'containers-walk.fw.container-0' }]);
    const { id, state } = await chain.instance();
    expect({ id, state }).toEqual({ id: 'containers-walk.fw.container-0', state: 'running' });
    const before = await chain.packetsIn(id);
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await api.until('packets through the container', async () =>
      (await chain.packetsIn(id)) >= before + 60 ? true : null,
    );
    expect(await flowsOf(id)).toContain('10.0.2.1');
  });

  await test.step('the agent is killed: traffic continues, and the next agent adopts the container', async () => {
    const { id, server } = await chain.instance();
    const { items: last } = await api.ok('GET', '/events?order=newest-first&limit=1');
    const fault = await api.ok('POST', '/twin/faults', { kind: 'agent-kill', target: server });
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    // The server still shows what the killed agent reported until it notices that the agent is gone.
    const since = `type=engine.adopted&subject=${server}&after=${last[0].id}`;
    await api.until('another agent', async () => {
      const { items } = await api.ok('GET', `/events?${since}`);
      return items.length > 0 ? true : null;
    });
    await api.until('its instance', async () => ((await chain.instance()).state === 'running' ? true : null));
    expect((await chain.instance()).id).toBe(id);
    await api.call('DELETE', `/twin/faults/${fault.id}`);
  });

  await test.step('back to software', async () => {
    await chain.runOn('software');
    expect((await chain.instance()).id).toBe('containers-walk.fw.0');
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    expect(await flowsOf('containers-walk.fw.0')).toContain('10.0.2.1');
  });

  await chain.remove();
});
