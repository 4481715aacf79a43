// A button that changes something. It first opens a dialog that says what will happen. A viewer does
// not see it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Form, FormProblem, textsOf, useField } from './form.js'
import { html } from './html.js'
import { useMayChange } from './session.js'

/**
 * @param {object} props
 * @param {string} props.label of the button.
 * @param {string} [props.name] what a screen reader says instead, when several buttons look the same.
 * @param {string} props.title of the dialog.
 * @param {string} [props.confirm] the label of the button that does it.
 * @param {boolean} [props.danger]
 * @param {unknown} props.children what will happen, and the fields of the change.
 * @param {(fields: Record<string, string>, form: FormData) => Promise<unknown>} props.run
 * @param {() => void} [props.done] after the change, for example to read the resource again.
 * @param {(isOpen: boolean) => void} [props.onToggle] when the dialog opens and closes.
 * @param {(result: any) => unknown} [props.show] what to show of the result. Without it the dialog
 *   closes after the change.
 */
export function Action(props) {
  const { label, name, danger = false, title, onToggle } = props
  const [isOpen, setOpen] = useState(false)
  if (!useMayChange()) return null
  const toggle = (/** @type {boolean} */ opens) => {
    setOpen(opens)
    onToggle?.(opens)
  }
  const open = () => toggle(true)
  return html`<span class="action">
    <button type="button" class=${danger ? 'danger' : ''} aria-label=${name} onClick=${open}>
      ${label}
    </button>
    ${isOpen && html`<${ActionDialog} ...${props} key=${title} close=${() => toggle(false)} />`}
  </span>`
}

/** @param {Parameters<typeof Action>[0] & { close: () => void }} props */
function ActionDialog({ title, confirm, label, danger, children, run, done, show, close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const [state, setState] = useState(
    /** @type {{ busy?: boolean, problem?: Error, result?: unknown }} */ ({}),
  )
  const isSent = useRef(false)
  useEffect(() => dialog.current?.showModal(), [])

  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget))
    const fields = textsOf(form)
    setState({ busy: true })
    try {
      isSent.current = true
      const result = await run(fields, form)
      if (show === undefined) dialog.current?.close()
      else setState({ result: show(result) })
    } catch (error) {
      setState({ problem: /** @type {Error} */ (error) })
    }
  }
  // Not before: the button of a row goes with its row, and what it shows goes with it.
  const end = () => {
    close()
    // After a refusal, too: it can have changed something, as a claim that is contradicted does.
    if (isSent.current) done?.()
  }
  const cancel = () => dialog.current?.close()
  return html`<dialog ref=${dialog} onClose=${end} aria-labelledby="dialog-title">
    <h2 id="dialog-title">${title}</h2>
    ${
      state.result === undefined
        ? html`<${Form} onSubmit=${submit} problem=${state.problem}>
            ${children}
            <${FormProblem} />
            <p class="buttons">
              <button type="button" onClick=${cancel}>Cancel</button>
              <button type="submit" class=${danger ? 'danger' : 'primary'} disabled=${state.busy}>
                ${confirm ?? label}
              </button>
            </p>
          <//>`
        : html`<div role="status">${state.result}</div>
            <p class="buttons"><button type="button" autofocus onClick=${cancel}>Close</button></p>`
    }
  </dialog>`
}

/** @param {{ label: string, name: string, type?: string, hint?: unknown, [attribute: string]: unknown }} props */
export function Field({ label, name, hint, ...more }) {
  const { attributes, error } = useField(name)
  return html`<label class="field">
    <span>${label}</span>
    <input autocomplete="off" ...${attributes} ...${more} />
    ${error} ${hint !== undefined && html`<small>${hint}</small>`}
  </label>`
}

/** @param {{ label: string, name: string, hint?: unknown, [attribute: string]: unknown }} props */
export function LongField({ label, name, hint, ...more }) {
  const { attributes, error } = useField(name)
  return html`<label class="field">
    <span>${label}</span>
    <textarea rows="3" ...${attributes} ...${more}></textarea>
    ${error} ${hint !== undefined && html`<small>${hint}</small>`}
  </label>`
}
