// Tables, their pages, and the filters above them.
import { useState } from 'preact/hooks'
import { Form, textsOf, useField } from './form.js'
import { html } from './html.js'
import { ProblemNote } from './parts.js'
import { go, hrefOf } from './route.js'
import { Term } from './terms.js'

/** How many rows a page of a list has. */
export const PAGE_ROWS = 25

/**
 * A table with a caption. It scrolls by itself when it is wider than the page. The first cell of each
 * row is its header.
 *
 * @param {{ caption: string, columns: string[], rows: { key: string, cells: unknown[] }[], empty?: string }} props
 */
export function Table({ caption, columns, rows, empty = 'Nothing here.' }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((name) => html`<th scope="col" key=${name}><${Term} name=${name} /></th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ key, cells: [first, ...others] }) =>
            html`<tr key=${key}>
              <th scope="row">${first}</th>
              ${others.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
        ${
          rows.length === 0 &&
          html`<tr key="empty">
            <td class="quiet" colspan=${columns.length}>${empty}</td>
          </tr>`
        }
      </tbody>
    </table>
  </div>`
}

/**
 * A page of a list of the service, with links to the pages before and after it.
 *
 * @param {object} props
 * @param {import('./resource.js').Resource} props.list
 * @param {import('./route.js').Route} props.route
 * @param {string} props.caption
 * @param {string[]} props.columns
 * @param {(item: any) => unknown[]} props.cells
 * @param {string} [props.empty]
 * @param {any[]} [props.items] by default those of the list.
 */
export function List({ list, route, caption, columns, cells, empty, items = list.value?.data }) {
  if (items === undefined) {
    if (list.problem !== undefined) return html`<${ProblemNote} problem=${list.problem} />`
    return html`<p class="quiet" role="status">Loading</p>`
  }
  const rows = items.map((/** @type {{ id: string }} */ item) => ({
    key: item.id,
    cells: cells(item),
  }))
  return html`
    <${ProblemNote} problem=${list.problem} />
    <${Table} ...${{ caption, columns, rows, empty }} />
    <${Pager}
      ...${{ route, items }}
      hasMore=${list.value?.has_more === true}
      searchedTo=${list.value?.searched_to}
    />
  `
}

/**
 * @param {object} props
 * @param {import('./route.js').Route} props.route
 * @param {{ id: string }[]} props.items
 * @param {boolean} props.hasMore
 * @param {string | null} [props.searchedTo] where the service stopped to look for more.
 */
export function Pager({ route: { page, id, query }, items, hasMore, searchedTo = null }) {
  const { starting_after: after, ending_before: before, ...filters } = query
  const isFirst = after === undefined && before === undefined
  // In the direction of the cursor there are more; in the other one is the page that one came from.
  const hasOlder = before === undefined ? hasMore : true
  const hasNewer = before === undefined ? !isFirst : hasMore
  if (isFirst && !hasMore) return null
  const first = (before !== undefined && searchedTo) || items[0]?.id
  const last = (before === undefined && searchedTo) || items.at(-1)?.id
  return html`<nav class="pager" aria-label="Pages of the list">
    ${!isFirst && html`<a href=${hrefOf(page, filters, id)}>Newest</a>`}
    ${
      hasNewer &&
      first !== undefined &&
      html`<a href=${hrefOf(page, { ...filters, ending_before: first }, id)}>Newer</a>`
    }
    ${
      hasOlder &&
      last !== undefined &&
      html`<a href=${hrefOf(page, { ...filters, starting_after: last }, id)}>Older</a>`
    }
  </nav>`
}

/** The query of a list at the service. @param {import('./route.js').Route} route */
export const listQuery = ({ query }) => ({ limit: PAGE_ROWS, ...query })

/**
 * The filters of a list. They are in the URL, so that it can be sent to somebody else.
 *
 * @param {object} props
 * @param {import('./route.js').Route} props.route
 * @param {unknown} props.children fields with the names of the query.
 * @param {(query: Record<string, string>) => import('./form.js').Errors} [props.check]
 * @param {Error} [props.problem] of the list with these filters.
 * @param {Record<string, string>} [props.keep] what is in the URL for the page, not for the service.
 */
export function Filters({ route, children, problem, check = () => ({}), keep = {} }) {
  const { page, id, query } = route
  const [errors, setErrors] = useState(/** @type {import('./form.js').Errors} */ ({}))
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const form = /** @type {HTMLFormElement} */ (event.currentTarget)
    /** @type {Record<string, string>} */
    const filters = { ...keep }
    for (const [name, text] of Object.entries(textsOf(new FormData(form)))) {
      if (text !== '') filters[name] = text
    }
    const wrong = check(filters)
    setErrors(wrong)
    if (Object.keys(wrong).length === 0) go(hrefOf(page, filters, id))
  }
  const key = JSON.stringify(query)
  return html`<${Form}
    class="filters"
    role="search"
    ...${{ key, problem, errors }}
    onSubmit=${submit}
  >
    ${children}
    <button type="submit">Filter</button>
    ${
      Object.keys(query).length > Object.keys(keep).length &&
      html`<a class="clear" href=${hrefOf(page, keep, id)}>Clear</a>`
    }
  <//>`
}

/**
 * @param {{ label: string, name: string, value?: string | undefined, hint?: string, size?: number }} props
 */
export function TextFilter({ label, name, value = '', hint = '', size = 18 }) {
  const { attributes, error } = useField(name)
  return html`<label>
    <span>${label}</span>
    <input
      ...${attributes}
      defaultValue=${value}
      placeholder=${hint}
      size=${size}
      autocomplete="off"
    />
    ${error}
  </label>`
}

/** @param {{ label: string, name: string, value?: string | undefined, options: [string, string][] }} props */
export function ChoiceFilter({ label, name, value = '', options }) {
  const { attributes, error } = useField(name)
  return html`<label>
    <span>${label}</span>
    <select ...${attributes}>
      ${options.map(
        ([option, text]) =>
          html`<option value=${option} selected=${option === value}>${text}</option>`,
      )}
    </select>
    ${error}
  </label>`
}
