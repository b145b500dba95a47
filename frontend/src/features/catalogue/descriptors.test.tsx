import { EditorView } from '@codemirror/view';
import { MantineProvider } from '@mantine/core';
import { type CataloguedNf, FieldError, NfDescriptor } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { sessionStore } from '../../shared/api/session.js';
import { NEW_IMAGE_NF, NEW_NF } from './new-nf.js';
import { Component as Catalogue } from './page.js';

const NEW = NfDescriptor.parse(parse(NEW_NF));
const WRITTEN: CataloguedNf = { ...NEW, id: 'mine', title: 'Mine', written: { by: 'ann', revision: 4, updated_ms: 1 } };
const SHIPPED: CataloguedNf = { ...NEW, id: 'firewall', title: 'Firewall' };

const IMAGE_NF = NfDescriptor.parse(parse(NEW_IMAGE_NF));
const [ofImage] = IMAGE_NF.implementations;
const CONTAINED: CataloguedNf = {
  ...{ ...IMAGE_NF, id: 'contained', title: 'Contained' },
  implementations: [{ ...ofImage!, image: { ...ofImage!.image!, reference: 'orrery/x:1', pull: 'never' } }],
};
const node = (id: string, images: string[]) => ({
  ...{ id, kind: 'server', state: 'connected' },
  capabilities: { containers: { available: true, detail: 'Docker', images } },
});
const NODES = [node('server-1', ['orrery/x:1']), node('server-2', [])];

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async (name: string) => ({ id: name === 'putNfDescriptor' ? 'mine' : 'my-filter' })),
  callFull: vi.fn(async (name: string) => {
    const items = name === 'listNodes' ? NODES : [WRITTEN, SHIPPED, CONTAINED];
    return { data: { items, total: items.length }, next: null };
  }),
}));
const { ApiError, call } = await import('../../shared/api/client.js');

afterEach(() => vi.mocked(call).mockClear());

async function show(address: string, role: 'admin' | 'designer' = 'admin') {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter initialEntries={[address]}>
          <Catalogue />
        </MemoryRouter>
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findAllByText('Firewall');
}
const refused = (error: FieldError) =>
  new ApiError({ type: 'about:blank', title: 'Unprocessable', status: 422, errors: [FieldError.parse(error)] });
const press = async (label: string) => fireEvent.click(await screen.findByText(label));
const EDITOR = 'Descriptor (YAML). Press Escape, then Tab to leave.';
/** Replaces the text and leaves the editor, as somebody does who presses a button next. */
const type = (insert: string) =>
  act(() => {
    const view = EditorView.findFromDOM(screen.getByLabelText(EDITOR))!;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert }, userEvent: 'input.type' });
    view.contentDOM.dispatchEvent(new FocusEvent('blur'));
  });
/** Announced to screen readers as well. */
const problems = async () => (await screen.findByRole('alert')).textContent;

describe('legacy NFs in the catalogue', () => {
  it('begin with a template; what is wrong is told with its line, here and by the server', async () => {
    await show('/catalogue');
    await press('New NF…');
    await screen.findByLabelText(EDITOR);
    type(NEW_NF.replace('version: 1.0.0', 'version: one'));
    await press('Add to the catalogue');
    expect(await problems()).toMatch(/^line 7: version must be/);
    expect(call).not.toHaveBeenCalled();

    type(NEW_NF.replace('title: My filter', 'title: " "'));
    await press('Add to the catalogue');
    expect(await problems()).toMatch(/^line 3: title must [^:]*$/);

    fireEvent.keyDown(screen.getByLabelText(EDITOR), { key: 'Escape' });
    expect(screen.queryByLabelText(EDITOR)).not.toBeNull();

    type(NEW_NF);
    const pointer = '/implementations/0/program/preserves';
    vi.mocked(call).mockRejectedValueOnce(refused({ pointer, detail: 'must be empty' }));
    await press('Add to the catalogue');
    const line = NEW_NF.split('\n').findIndex((it) => it.includes('preserves')) + 1;
    expect(await problems()).toBe(`line ${line}: implementations[0].program.preserves must be empty`);
    type(`${NEW_NF}\n`);
    expect(screen.queryByRole('alert')).toBeNull();
    await press('Add to the catalogue');
    await waitFor(() => expect(screen.queryByLabelText(EDITOR)).toBeNull());
    expect(call).toHaveBeenLastCalledWith('createNfDescriptor', { body: NEW }, expect.anything());
  });

  it('begin with a container image where that is chosen; a wrong field of the image has its line', async () => {
    await show('/catalogue');
    await press('New NF…');
    await screen.findByLabelText(EDITOR);
    await press('a container image');
    await press('Add to the catalogue');
    await waitFor(() => expect(call).toHaveBeenCalled());
    const [, { body }] = vi.mocked(call).mock.lastCall as unknown as [string, { body: NfDescriptor }];
    expect(body).toEqual(NfDescriptor.parse(parse(NEW_IMAGE_NF)));
    vi.mocked(call).mockClear();
    await press('New NF…');
    await screen.findByLabelText(EDITOR);
    const lineOf = (part: string) => NEW_IMAGE_NF.split('\n').findIndex((it) => it.includes(part)) + 1;
    for (const [from, to, field] of [
      ['pull: if-missing', 'pull: sometimes', 'pull'],
      ['filter:1.0', 'Filter', 'reference'],
      ['cpus: 1,', 'cpus: 9999,', 'limits.cpus'],
      ['[NET_ADMIN]', '[SYS_ADMIN]', 'capabilities'],
    ] as const) {
      type(NEW_IMAGE_NF.replace(from, to));
      await press('Add to the catalogue');
      expect(await problems()).toMatch(new RegExp(`^line ${lineOf(from)}: .*${field}`));
    }
    expect(call).not.toHaveBeenCalled();
  });

  it('tell of an image which servers can run it, and why others cannot', async () => {
    await show('/catalogue?nf=contained');
    expect(await screen.findByText('can run')).toBeTruthy();
    expect(screen.getByText(/cannot run: its Docker does not have orrery\/x:1/)).toBeTruthy();
  });

  it('are changed and deleted at the revision that is shown', async () => {
    await show('/catalogue?nf=mine');
    await press('Edit');
    await press('Save');
    const { written: _, ...body } = WRITTEN;
    const put = ['putNfDescriptor', { params: { id: 'mine' }, body }, { ifMatch: '"4"' }];
    await waitFor(() => expect(call).toHaveBeenLastCalledWith(...put));
    await press('Delete');
    await press('Delete NF');
    const deletion = ['deleteNfDescriptor', { params: { id: 'mine' } }, { ifMatch: '"4"' }];
    await waitFor(() => expect(call).toHaveBeenLastCalledWith(...deletion));
  });

  it('cannot be changed where they came with Orrery, and not by designers', async () => {
    await show('/catalogue?nf=firewall');
    expect([screen.queryByText('Edit'), screen.queryByText('New NF…') !== null]).toEqual([null, true]);
  });

  it('are shown to designers without actions', async () => {
    await show('/catalogue?nf=mine', 'designer');
    expect([screen.queryByText('Edit'), screen.queryByText('New NF…')]).toEqual([null, null]);
  });
});
