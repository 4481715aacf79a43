// Forms. What is wrong with a field stands at the field, and goes when the field changes.
import { createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from './api.js'
import { html } from './html.js'
import { ProblemNote } from './parts.js'

/** @param {FormData} form @returns {Record<string, string>} without the spaces around the texts. */
export function textsOf(form) {
  const texts = [...form].map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() : '',
  ])
  return Object.fromEntries(texts)
}

/** @typedef {Record<string, string>} Errors by the names of fields. */

/** @type {{ errors: Errors, rest: Error | undefined }} */
const NONE = { errors: {}, rest: undefined }

const Shown = createContext(NONE)

/**
 * @param {object} props
 * @param {Error} [props.problem] of the service. What it says of a field of the form stands there.
 * @param {Errors} [props.errors] that the page found by itself.
 * @param {unknown} props.children
 * @param {(event: SubmitEvent) => void} props.onSubmit
 */
export function Form({ problem, errors = {}, children, onSubmit, ...attributes }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null))
  const [changed, setChanged] = useState(/** @type {readonly string[]} */ ([]))
  const isField = (/** @type {string} */ name) => Boolean(form.current?.elements.namedItem(name))
  const all = Object.entries({ ...errorsOf(problem), ...errors }).filter(([name]) => isField(name))
  const shown = Object.fromEntries(all.filter(([name]) => !changed.includes(name)))
  const key = JSON.stringify(all)
  useEffect(() => {
    const wrong = form.current?.querySelector('[aria-invalid=true]')
    if (wrong instanceof HTMLElement) wrong.focus()
  }, [key])
  const submit = (/** @type {SubmitEvent} */ event) => {
    setChanged([])
    onSubmit(event)
  }
  const forget = (/** @type {{ target: { name: string } }} */ { target }) =>
    setChanged((before) => [...before, target.name])
  return html`<form ...${attributes} ref=${form} onSubmit=${submit} onInput=${forget}>
    <${Shown.Provider} value=${{ errors: shown, rest: restOf(problem, isField) }}>${children}<//>
  </form>`
}

/** @param {Error | undefined} problem @returns {Errors} */
function errorsOf(problem) {
  if (!(problem instanceof Problem)) return {}
  const { errors, detail = '' } = problem
  // A refused parameter of a list is named by the detail.
  const [, name = '', expected = ''] = /^(\w+) (must be .*)$/.exec(detail) ?? []
  return Object.fromEntries([
    ...errors.map((error) => [error.pointer.slice(1), error.detail]),
    [name, expected],
  ])
}

/**
 * What is said of no field of the form.
 *
 * @param {Error | undefined} problem @param {(name: string) => boolean} isField
 */
function restOf(problem, isField) {
  if (!(problem instanceof Problem) || !Object.keys(errorsOf(problem)).some(isField)) return problem
  const errors = problem.errors.filter(({ pointer }) => !isField(pointer.slice(1)))
  if (errors.length === 0) return undefined
  const { status, type, title } = problem
  return new Problem(status, { type, title, errors })
}

/** What is said of no field. */
export const FormProblem = () => html`<${ProblemNote} problem=${useContext(Shown).rest} />`

/** The attributes of a field, and what is wrong with it. @param {string} name */
export function useField(name) {
  const wrong = useContext(Shown).errors[name]
  return {
    attributes: wrong === undefined ? { name } : { name, 'aria-invalid': 'true' },
    error: wrong !== undefined && html`<small class="error" role="alert">${wrong}</small>`,
  }
}
