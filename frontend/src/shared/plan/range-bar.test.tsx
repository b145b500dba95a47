import { render, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { RangeBar } from './range-bar.js';

const parts = [
  {
    to: 'nat.0',
    server: 'server-1',
    ranges: [
      { lo: 0, hi: 16384 },
      { lo: 49152, hi: 65536 },
    ],
  },
  { to: 'nat.1', server: 'server-2', ranges: [{ lo: 16384, hi: 49152 }] },
];

it('draws each range to scale in the colour of its target, and says the shares in a table', () => {
  const { container } = render(<RangeBar label="Targets of e1" parts={parts} rateOf={() => '5'} />);
  const drawn = [...container.querySelectorAll<HTMLElement>('[title^="nat."]')].filter(
    ({ style }) => style.left !== '',
  );
  expect(drawn.map(({ title, style }) => [title, style.left, style.width])).toEqual([
    ['nat.0: [0, 16384)', '0%', '25%'],
    ['nat.0: [49152, 65536)', '75%', '25%'],
    ['nat.1: [16384, 49152)', '25%', '50%'],
  ]);
  expect(drawn[0]!.style.background).toBe(drawn[1]!.style.background);
  expect(drawn[2]!.style.background).not.toBe(drawn[0]!.style.background);
  const table = screen.getByRole('table', { name: 'Targets of e1' });
  expect(within(table).getAllByText('50.0 %')).toHaveLength(2);
  expect(within(table).queryByText('Exceptions')).toBeNull();
});

it('counts exceptions where they are told', () => {
  render(<RangeBar label="e1" parts={parts} rateOf={() => '5'} exceptionsOf={({ to }) => (to === 'nat.0' ? 3 : 0)} />);
  expect(screen.getAllByRole('row').map(({ lastChild }) => lastChild?.textContent)).toEqual(['Exceptions', '3', '0']);
});

it('says over which time packets and rates are averaged, and names each target in full', () => {
  render(<RangeBar label="e1" parts={parts} windowS={5} liveShareOf={() => '50'} rateOf={() => '7'} />);
  expect(screen.getAllByRole('columnheader').map(({ textContent }) => textContent)).toEqual([
    'Target',
    'Hash range',
    'Packets, 5\u00a0s',
    'Rate, 5\u00a0s',
  ]);
  expect(screen.getByTitle('nat.0').textContent).toBe('nat.0');
});
