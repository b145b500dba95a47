import type { ReactNode, RefObject } from 'react';
import type { QueryLike } from '../ui/states.js';
import type { Column } from './column.js';
import type { TableSettings } from './table-settings.js';

export interface DataTableProps<Row> {
  /** What the table lists, for screen readers and file names: "Chains". */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Where the rows come from: its loading and error states take the table's place. */
  readonly query?: QueryLike;
  /** Shown instead of the table if there are no rows before filtering. */
  readonly empty?: ReactNode;
  /** Makes it the page's main table: with filter, choice of columns and download. */
  readonly settings?: TableSettings;
  readonly onSelect?: (row: Row) => void;
  /** Page that a row leads to, instead of `onSelect`. */
  readonly linkOf?: (row: Row) => string;
  readonly selectedKey?: string | null;
  /** Called with the row under the pointer; null: none. */
  readonly onPoint?: (row: Row | null) => void;
  /** `data-` attributes of a row. */
  readonly dataOf?: (row: Row) => Readonly<Record<`data-${string}`, string | boolean | undefined>>;
  /** Where the table has less width than this, pixels, each row is a card; without it the table scrolls sideways. */
  readonly cards?: number;
  /** Fills the available height, and scrolls inside. */
  readonly fill?: boolean;
  /** The scrolling element, for a page that controls it. */
  readonly box?: RefObject<HTMLDivElement | null>;
  /** Under the last row, within what scrolls. */
  readonly footer?: ReactNode;
  /** Asks for more rows, when the last ones come into view. */
  readonly onNearEnd?: () => void;
  readonly onScrolled?: (scrolled: boolean) => void;
  readonly className?: string;
}
