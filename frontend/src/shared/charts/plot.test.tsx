import type { Event } from '@orrery/contract';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import Plot from './plot.js';

// jsdom draws nothing: what is used of a plot of 1000 px.
vi.mock('uplot', () => ({
  default: class {
    readonly bbox = { left: 0, width: 1000 };
    readonly cursor = {};
    readonly scales = { x: { min: 0, max: 0 } };
    setScale(_axis: 'x', range: { min: number; max: number }) {
      this.scales.x = range;
    }
    valToPos(t_s: number) {
      const { min, max } = this.scales.x;
      return (1000 * (t_s - min)) / (max - min);
    }
    setData() {}
    setSize() {}
    redraw() {}
    destroy() {}
  },
}));

const event = (t_s: number, message: string) =>
  ({ id: `${1000 * t_s}-0`, t_ms: 1000 * t_s, severity: 'info', type: 'fault.injected', message }) as Event;

it('goes through its events with the arrow keys, and leaves them with Escape', () => {
  render(
    <Plot
      title="Load"
      events={[event(10, 'first'), event(50, 'second'), event(50.5, 'beside'), event(200, 'outside')]}
      series={[{ label: 'load' }]}
      data={[
        [0, 100],
        [1, 2],
      ]}
      ahead_ms={0}
      quantity="count"
      height={100}
      windowS={100}
      range={{ from_s: 0, to_s: 100 }}
      onCursor={() => undefined}
    />,
  );
  const plot = screen.getByRole('img', { name: 'Load, chart. Arrow keys go through its events.' });
  const told = (key: string) => {
    fireEvent.keyDown(plot, { key });
    return screen.queryAllByRole('listitem').map(({ textContent }) => textContent?.split(' ').at(-1));
  };
  expect(told('ArrowRight')).toEqual(['first']);
  expect(told('ArrowRight')).toEqual(['beside', 'second']);
  expect(told('ArrowRight')).toEqual(['beside', 'second']);
  expect(told('x')).toEqual(['beside', 'second']);
  expect(told('ArrowLeft')).toEqual(['first']);
  expect(told('Escape')).toEqual([]);
  expect(told('ArrowLeft')).toEqual(['beside', 'second']);
  fireEvent.blur(plot);
  expect(screen.queryAllByRole('listitem')).toEqual([]);
});
