// A form with one button that does something at once, and says below it what happened. The button
// keeps the focus while it works: a disabled one would lose it.
import { useState } from 'preact/hooks'
import { Form, FormProblem, textsOf } from '../../../console/form.js'
import { html } from '../../../console/html.js'

/**
 * @typedef {object} State
 * @property {boolean} busy
 * @property {unknown} [seen]
 * @property {Error} [problem]
 */

/**
 * @param {object} props
 * @param {string} props.label
 * @param {boolean} [props.danger]
 * @param {unknown} [props.children] the fields.
 * @param {string} [props.notYet] why the button cannot be pressed now.
 * @param {(fields: Record<string, string>, say: (seen: unknown) => void) => Promise<unknown>} props.run
 *   returns what was seen, and may say before what happens meanwhile.
 */
export function Press({ label, danger = false, children, notYet, run }) {
  const [{ busy, seen, problem }, set] = useState(/** @type {State} */ ({ busy: false }))
  const say = (/** @type {unknown} */ now) => set({ busy: true, seen: now })
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    if (busy || notYet !== undefined) return
    const fields = textsOf(new FormData(/** @type {HTMLFormElement} */ (event.currentTarget)))
    say(undefined)
    try {
      set({ busy: false, seen: await run(fields, say) })
    } catch (error) {
      set({ busy: false, problem: /** @type {Error} */ (error) })
    }
  }
  return html`<${Form} class="press" onSubmit=${submit} problem=${problem}>
    ${children}
    <button
      type="submit"
      class=${danger ? 'danger' : 'primary'}
      aria-disabled=${busy || notYet !== undefined}
    >
      ${label}
    </button>
    <p class="seen" role="status" aria-busy=${busy}>${seen ?? notYet}</p>
    <${FormProblem} />
  <//>`
}
