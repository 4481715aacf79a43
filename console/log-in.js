// The log-in by an operator's key, and who is logged in.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { change, Problem } from './api.js'
import { html } from './html.js'
import { ProblemNote } from './parts.js'
import { beginSession, leaveSession } from './session.js'
import { forgetTenantNames } from './tenant-names.js'

/** @param {{ ended: boolean }} props `ended`: the session of before has ended. */
export function LogIn({ ended }) {
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined))
  const field = useRef(/** @type {HTMLInputElement | null} */ (null))
  useLayoutEffect(() => {
    document.title = 'Log in - Atomic Payments console'
    field.current?.focus()
  }, [])
  const logIn = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    const key = field.current?.value.trim() ?? ''
    try {
      const session = await change('POST', '/console/session', { key })
      forgetTenantNames()
      beginSession(session)
    } catch (error) {
      setProblem(inWords(/** @type {Error} */ (error)))
      field.current?.select()
    }
  }
  return html`<main class="log-in">
    <h1>Atomic Payments</h1>
    ${
      ended &&
      html`<p class="note" role="alert">
        Your session has ended. Log in again, and you come back to the same page.
      </p>`
    }
    <form onSubmit=${logIn} onInput=${() => setProblem(undefined)}>
      <label class="field">
        <span>Operator key</span>
        <input ref=${field} type="password" name="key" required autocomplete="current-password" />
        <small>
          It begins with <code>adm_</code>, and stands in the setting <code>ADMIN_API_KEY</code>.
        </small>
      </label>
      <${ProblemNote} problem=${problem} />
      <p><button type="submit" class="primary">Log in</button></p>
    </form>
  </main>`
}

/** The service speaks of headers, because programs get the same problem. @param {Error} problem */
function inWords(problem) {
  if (!(problem instanceof Problem) || !problem.type.endsWith('/operator-key-invalid'))
    return problem
  const { type, status } = problem
  return new Problem(status, {
    type,
    title: 'No operator has this key',
    detail:
      'Check that you copied all of it. An API key of a tenant does not open the console, and a key that was removed from the settings does not, either.',
  })
}

/** @param {{ session: import('./session.js').Session }} props */
export function LogOut({ session: { operator, role } }) {
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined))
  const logOut = () => change('DELETE', '/console/session').then(leaveSession, setProblem)
  return html`<div class="who">
    <span><bdi>${operator}</bdi>${role === 'viewer' && ' (viewer)'}</span>
    <button type="button" onClick=${logOut}>Log out</button>
    <${ProblemNote} problem=${problem} />
  </div>`
}
