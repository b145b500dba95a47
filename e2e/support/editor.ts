import { expect, type Locator, type Page } from '@playwright/test';

/** The chain editor as a person uses it: dragging from the palette, connecting handles and filling in forms. */
export class Editor {
  constructor(private readonly page: Page) {}

  get canvas(): Locator {
    return this.page.locator('.react-flow');
  }

  /** The tile of a node by its id. */
  node(id: string): Locator {
    return this.page.locator(`.react-flow__node[data-id="${id}"]`);
  }

  /**
   * Drags a palette entry to a position given as fractions of the canvas (0 to 1); returns the id of the node that
   * appears.
   */
  async drop(title: string, at: { x: number; y: number }): Promise<string> {
    const before = await this.ids();
    const entry = this.page.getByRole('button', { name: `Add ${title}`, exact: true });
    const box = (await this.canvas.boundingBox())!;
    await entry.hover();
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width * at.x - 20, box.y + box.height * at.y, { steps: 8 });
    await this.page.mouse.move(box.x + box.width * at.x, box.y + box.height * at.y, { steps: 4 });
    await this.page.mouse.up();
    await expect.poll(async () => (await this.ids()).length).toBe(before.length + 1);
    return (await this.ids()).find((id) => !before.includes(id))!;
  }

  /** Drags a line from one node's output to another's input. */
  async connect(from: string, to: string): Promise<void> {
    const edges = await this.page.locator('.react-flow__edge').count();
    const output = (await this.node(from).locator('.react-flow__handle.source').boundingBox())!;
    const input = (await this.node(to).locator('.react-flow__handle.target').boundingBox())!;
    await this.page.mouse.move(output.x + output.width / 2, output.y + output.height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(input.x - 30, input.y + input.height / 2, { steps: 10 });
    await this.page.mouse.move(input.x + input.width / 2, input.y + input.height / 2, { steps: 6 });
    await this.page.mouse.up();
    await expect(this.page.locator('.react-flow__edge')).toHaveCount(edges + 1);
  }

  /** Zooms out to make room: each step shows a fifth more. */
  async zoomOut(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) await this.page.getByRole('button', { name: 'Zoom out' }).click();
    await this.page.waitForFunction(
      () => document.querySelector('.react-flow')?.getAnimations({ subtree: true }).length === 0,
    );
  }

  /** Moves a node's middle to a position given as fractions of the canvas. */
  async moveTo(id: string, at: { x: number; y: number }): Promise<void> {
    const box = (await this.canvas.boundingBox())!;
    const tile = (await this.node(id).boundingBox())!;
    await this.page.mouse.move(tile.x + tile.width / 2, tile.y + 12);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width * at.x, box.y + box.height * at.y, { steps: 10 });
    await this.page.mouse.up();
  }

  /** Selects the connection between two nodes by clicking half-way between their handles, where its line runs. */
  async selectEdge(from: string, to: string): Promise<void> {
    const output = (await this.node(from).locator('.react-flow__handle.source').boundingBox())!;
    const input = (await this.node(to).locator('.react-flow__handle.target').boundingBox())!;
    await this.page.mouse.click(
      (output.x + output.width / 2 + input.x + input.width / 2) / 2,
      (output.y + input.y + input.height) / 2,
    );
    const [source, target] = await Promise.all([this.label(from), this.label(to)]);
    const selected = this.page.locator('.react-flow__edge.selected');
    await expect(selected).toHaveCount(1);
    await expect
      .poll(() => selected.getAttribute('aria-label'), 'name of the selected connection')
      .toContain(`Connection ${source} → ${target}`);
    await expect(this.page.getByRole('region', { name: 'Which packets' })).toBeVisible();
  }

  /** Adds a condition to the selection and fills it in. */
  async addCondition(row: number, attribute: string | RegExp, value: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Add a condition' }).click();
    await this.choose(`Condition ${row}, attribute`, attribute);
    const field = this.page.getByLabel(`Condition ${row}, value`).first();
    if ((await field.getAttribute('readonly')) !== null) await this.choose(`Condition ${row}, value`, value);
    else await field.fill(value);
  }

  async choose(label: string, option: string | RegExp): Promise<void> {
    await this.page
      .getByRole('combobox', { name: label })
      .or(this.page.getByRole('textbox', { name: label }))
      .first()
      .click();
    await this.page.getByRole('option', { name: option }).first().click();
  }

  async saved(): Promise<void> {
    await expect(this.page.getByTestId('save-state')).toHaveText(/saved/i);
  }

  /** A node's name on the canvas; its accessible name also includes its kind. */
  private async label(id: string): Promise<string> {
    const name = (await this.node(id).getAttribute('aria-label'))!;
    return name.slice(0, name.lastIndexOf(', '));
  }

  private async ids(): Promise<string[]> {
    return this.page
      .locator('.react-flow__node')
      .evaluateAll((nodes) => nodes.map((node) => node.getAttribute('data-id')!));
  }
}
