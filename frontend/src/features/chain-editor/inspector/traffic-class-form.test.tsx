import { MantineProvider } from '@mantine/core';
import type { Infrastructure } from '@orrery/contract';
import { act, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { createStore, useStore } from 'zustand';
import { setEdgeRate } from '../../../editor-model/edit.js';
import { check } from '../../../editor-model/problems.js';
import { chain, IDS, MONITOR } from '../../../editor-model/testing.js';
import { type Derived, EditorContext, type EditorContextValue } from '../../../shared/chain-draft/context.js';
import { createEditorStore, type EditorStore } from '../../../shared/chain-draft/store.js';
import { TrafficClassForm } from './traffic-class-form.js';

const hosts = ['client-1', 'client-2'].map((id, index) => ({ id, addresses: [{ address: `10.0.1.${index + 1}` }] }));
const descriptors = [IDS, MONITOR];
const infrastructure = { hosts } as unknown as Infrastructure;

function Form({ store }: { readonly store: EditorStore }) {
  const definition = useStore(store, (state) => state.definition);
  const problems = check(definition, { descriptors, hosts });
  const derived = createStore(() => ({ problems }) as unknown as Derived);
  return (
    <MantineProvider env="test">
      <EditorContext
        value={{ store, derived, infrastructure, descriptors, readOnly: false } as unknown as EditorContextValue}
      >
        <TrafficClassForm definition={definition} />
      </EditorContext>
    </MantineProvider>
  );
}

function show(from = ['client-1']) {
  const definition = chain('ingress>a', 'a>egress');
  const traffic_class = { ...definition.traffic_class, from, rate_bps: 20e6, packet_bytes: 800 };
  const store = createEditorStore({ ...definition, traffic_class });
  render(<Form store={store} />);
  return { store, user: userEvent.setup(), now: () => store.getState().definition.traffic_class };
}
const field = (name: string) => screen.getByRole<HTMLInputElement>('textbox', { name });

describe('TrafficClassForm', () => {
  it('takes hosts, but not none', async () => {
    const { user, now } = show();
    await user.click(screen.getByRole('combobox', { name: 'From hosts' }));
    await user.click(screen.getByRole('option', { name: 'client-2 (10.0.1.2)' }));
    expect(now().from).toEqual(['client-1', 'client-2']);
    await user.click(screen.getByRole('option', { name: 'client-2 (10.0.1.2)' }));
    await user.click(screen.getByRole('option', { name: 'client-1 (10.0.1.1)' }));
    expect(now().from).toEqual(['client-1']);
  });

  it('says which rates of connections contradict the expected rate, and derives them in one step of undo', async () => {
    const { store, user } = show();
    expect(screen.queryByRole('note')).toBeNull();
    act(() => store.apply((definition) => setEdgeRate(definition, 'e1', 10e6)));
    expect(screen.getByRole('note').textContent).toContain('1 connection has an estimated rate of its own');
    await user.click(screen.getByRole('button', { name: 'Derive it from the class' }));
    expect(store.getState().definition.edges.some((edge) => 'rate_bps' in edge)).toBe(false);
    expect(screen.queryByRole('note')).toBeNull();
    act(() => store.undo());
    expect(store.getState().definition.edges[0]).toMatchObject({ rate_bps: 10e6 });
  });

  it('says at the field which host there is not', () => {
    show(['client-1', 'ghost']);
    expect(screen.getByRole('combobox', { name: 'From hosts' }).getAttribute('aria-invalid')).toBe('true');
    expect(screen.getAllByText('ghost (unknown)').length).toBeGreaterThan(0);
  });

  it('takes a rate and a packet size, each in its own step of undo, and none out of bounds', async () => {
    const { store, user, now } = show();
    await user.clear(field('Expected rate'));
    await user.type(field('Expected rate'), '30M');
    await user.clear(field('Mean packet'));
    expect(now().packet_bytes).toBe(800);
    await user.type(field('Mean packet'), '20');
    expect(screen.getByText('must be at least 64 bytes')).toBeTruthy();
    await user.type(field('Mean packet'), '0');
    expect(now()).toMatchObject({ rate_bps: 30e6, packet_bytes: 200 });
    act(() => store.undo());
    expect(now()).toMatchObject({ rate_bps: 30e6, packet_bytes: 800 });
  });
});
