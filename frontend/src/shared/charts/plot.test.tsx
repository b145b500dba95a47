import type { Event } from '@orrery/contract';
import { createEvent, fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import Plot from './plot.js';
import type { plotOptions } from './plot-options.js';

vi.mock('./draw-marks.js', () => ({ drawBands: vi.fn(), drawEvents: vi.fn(), drawLevels: vi.fn() }));
// jsdom draws nothing: what is used of a plot of 1000 px.
vi.mock('uplot', () => ({
  default: class {
    readonly bbox = { left: 0, width: 1000 };
    readonly cursor = {};
    readonly scales = { x: { min: 0, max: 0 } };
    readonly options: ReturnType<typeof plotOptions>;
    constructor(options: ReturnType<typeof plotOptions>) {
      this.options = options;
    }
    setScale(_axis: 'x', range: { min: number; max: number }) {
      this.scales.x = range;
      this.redraw();
    }
    valToPos(t_s: number) {
      const { min, max } = this.scales.x;
      return (1000 * (t_s - min)) / (max - min);
    }
    setData() {}
    setSize() {}
    redraw() {
      for (const draw of this.options.hooks.draw) draw(this as never);
    }
    destroy() {}
  },
}));

const event = (t_s: number, message: string) =>
  ({ id: `${1000 * t_s}-0`, t_ms: 1000 * t_s, severity: 'info', type: 'fault.injected', message }) as Event;

const plot = (range: { from_s: number; to_s: number }, events: readonly Event[]) => (
  <Plot
    title="Load"
    events={events}
    series={[{ label: 'load' }]}
    data={[
      [0, 100],
      [1, 2],
    ]}
    ahead_ms={0}
    quantity="count"
    height={100}
    windowS={100}
    range={range}
    onCursor={() => undefined}
  />
);
const EVENTS = [event(10, 'first'), event(50, 'second'), event(50.5, 'beside'), event(200, 'outside')];
const slider = () => screen.getByRole('slider', { name: 'Events of Load' });
const text = () => slider().getAttribute('aria-valuetext');
const shown = () => screen.queryAllByRole('listitem').map(({ textContent }) => textContent?.split(' ').at(-1));

it('goes through its events with the keys, says which is chosen, and leaves them with Escape', () => {
  render(plot({ from_s: 0, to_s: 100 }, EVENTS));
  const after = (key: string) => {
    fireEvent.keyDown(slider(), { key });
    return shown();
  };
  expect(text()).toBe('2 marked, none chosen');
  expect(after('ArrowRight')).toEqual(['first']);
  expect(text()).toMatch(/^\d\d:\d\d:\d\d first$/);
  expect(slider().getAttribute('aria-valuenow')).toBe('1');
  expect(after('ArrowRight')).toEqual(['beside', 'second']);
  expect(text()).toMatch(/^\S+ beside; \S+ second$/);
  expect(after('ArrowRight')).toEqual(['beside', 'second']);
  expect(after('x')).toEqual(['beside', 'second']);
  expect(after('ArrowLeft')).toEqual(['first']);
  expect(after('End')).toEqual(['beside', 'second']);
  expect(after('Home')).toEqual(['first']);
  expect(after('Escape')).toEqual([]);
  expect(text()).toBe('2 marked, none chosen');
  expect(after('ArrowLeft')).toEqual(['beside', 'second']);
  fireEvent.blur(slider());
  expect(shown()).toEqual([]);
});

it('keeps from others only the keys that it uses', () => {
  render(plot({ from_s: 0, to_s: 100 }, EVENTS));
  const isUsed = (init: object) => {
    const pressed = createEvent.keyDown(slider(), init);
    fireEvent(slider(), pressed);
    return pressed.defaultPrevented;
  };
  expect(isUsed({ key: 'Escape' })).toBe(false);
  expect(isUsed({ key: 'ArrowLeft', altKey: true })).toBe(false);
  expect(isUsed({ key: 'ArrowLeft' })).toBe(true);
  expect(isUsed({ key: 'Escape' })).toBe(true);
  expect(isUsed({ key: 'Escape' })).toBe(false);
});

it('moves a chosen mark along with the chart, until it has left', () => {
  const { rerender } = render(plot({ from_s: 0, to_s: 100 }, EVENTS));
  fireEvent.keyDown(slider(), { key: 'ArrowRight' });
  const left = () => screen.getByRole('list').style.left || screen.getByRole('list').style.right;
  const before = left();
  rerender(plot({ from_s: 5, to_s: 105 }, EVENTS));
  expect(shown()).toEqual(['first']);
  expect(left()).not.toBe(before);
  rerender(plot({ from_s: 20, to_s: 120 }, EVENTS));
  expect(shown()).toEqual([]);
  expect(text()).toBe('1 marked, none chosen');
});

it('takes no focus where it marks nothing', () => {
  const { container } = render(plot({ from_s: 60, to_s: 100 }, EVENTS));
  expect(screen.getByRole('img', { name: 'Load, chart' })).toBeTruthy();
  expect(container.querySelector('[tabindex]')).toBeNull();
});
