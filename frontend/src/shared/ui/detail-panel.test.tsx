import { MantineProvider } from '@mantine/core';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { DetailPanel } from './detail-panel.js';
import { FormDialog } from './form-dialog.js';

it('stays open when Escape closes a dialog above it', () => {
  const [closePanel, closeDialog] = [vi.fn(), vi.fn()];
  render(
    <MantineProvider env="test">
      <DetailPanel title="leaf-1" label="Switch" onClose={closePanel}>
        <button type="button">Undo</button>
        <FormDialog title="Undo?" size={300} action={null} onSubmit={() => undefined} onClose={closeDialog}>
          <input aria-label="Why" />
        </FormDialog>
      </DetailPanel>
    </MantineProvider>,
  );
  fireEvent.keyDown(screen.getByLabelText('Why'), { key: 'Escape' });
  expect([closeDialog.mock.calls.length, closePanel.mock.calls.length]).toEqual([1, 0]);
  fireEvent.keyDown(screen.getByText('Undo'), { key: 'Escape' });
  expect(closePanel).toHaveBeenCalledOnce();
});
