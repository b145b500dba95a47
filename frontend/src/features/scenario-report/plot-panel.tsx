import { Button } from '@mantine/core';
import type { ScenarioPlot } from '@orrery/contract';
import { IconDownload } from '@tabler/icons-react';
import { lazy, Suspense } from 'react';
import { download } from '../../shared/files/csv.js';
import { Panel } from '../../shared/page/page-header.js';
import { seriesColor, usePalette } from '../../shared/theme/palette.js';
import { plotCsv } from './report-files.js';
import classes from './scenario-report.module.css';

const Lines = lazy(() => import('./lines.js'));

const seriesText = ({ name, published, modelled }: ScenarioPlot['series'][number]) =>
  [name, published && 'published', modelled && 'modelled'].filter(Boolean).join(', ');

/** Series of a run on common axes, with a legend and their points as a file. */
export function PlotPanel({ plot }: { readonly plot: ScenarioPlot }) {
  const palette = usePalette();
  const save = () =>
    download(`${plot.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.csv`, plotCsv(plot), 'text/csv');
  return (
    <Panel
      title={plot.title}
      actions={
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconDownload size={13} aria-hidden />}
          aria-label={`${plot.title}: download CSV`}
          onClick={save}
        >
          CSV
        </Button>
      }
    >
      <figure className={classes.figure} aria-label={plot.title}>
        <ul className={classes.legend}>
          {plot.series.map((series, index) => (
            <li key={series.name}>
              <span className={classes.sample} style={{ background: seriesColor(palette, index) }} />
              {seriesText(series)}
            </li>
          ))}
        </ul>
        <Suspense fallback={null}>
          <Lines plot={plot} />
        </Suspense>
        {plot.source && <figcaption className="muted">{plot.source}</figcaption>}
      </figure>
    </Panel>
  );
}
