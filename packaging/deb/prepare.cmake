# Run by `cpack` after installing into its own folder: gives each Debian package its copyright and changelog, compresses the man
# pages as Debian asks, takes out the search paths that files in the system's folders do not need, and sets all times to
# SOURCE_DATE_EPOCH if that is set.
string(TIMESTAMP DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
if(CPACK_GENERATOR STREQUAL DEB)
  file(READ ${CPACK_TILEWRIGHT_SOURCE}/LICENSE LICENCE)
  set(CHANGES "tilewright (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${DATE}
")
  foreach(package ${CPACK_TILEWRIGHT_PACKAGES})
    string(REPLACE "=" ";" package ${package})
    list(GET package 0 group)
    list(GET package 1 name)
    set(folder ${CPACK_TEMPORARY_DIRECTORY}/${group}${CPACK_PACKAGING_INSTALL_PREFIX})
    set(docs ${folder}/share/doc/${name})
    file(WRITE ${docs}/copyright "${LICENCE}
Works of others that are compiled in, and their licences, are listed in
/usr/share/doc/tilewright/licences/README.md of the package with the shared
libraries. Texts of the Apache-2.0, GPL, LGPL and MPL licences are in
/usr/share/common-licenses.
")
    file(WRITE ${docs}/changelog "${CHANGES}")
    execute_process(COMMAND gzip -9nf ${docs}/changelog COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB pages ${folder}/share/man/man*/*.[1-9])
    if(pages)
      execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(GLOB programs ${folder}/bin/* ${folder}/lib/lib*.so.*.*.*)
    foreach(program ${programs})
      file(RPATH_REMOVE FILE ${program})
    endforeach()
  endforeach()
endif()
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
endif()
